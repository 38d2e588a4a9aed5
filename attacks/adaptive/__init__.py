"""Attacks by who knows the algorithm: what they send in round 1 and what follows fit together."""
