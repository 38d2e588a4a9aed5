"""Learning problems: data, loss, partition over clients, and the truth where it is known."""
