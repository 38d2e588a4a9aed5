"""Learning problems: data, loss, partition over machines, and the truth where it is known."""
