"""Stage I: how a client finds the minimiser of its local risk."""
