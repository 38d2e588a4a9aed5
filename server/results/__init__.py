"""What a run leaves: recorder, scores against the truth, metrics and the run folder."""
