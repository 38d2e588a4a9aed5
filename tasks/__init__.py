"""Learning problems: data, loss, partition over machines, and the ground truth where it is known."""
