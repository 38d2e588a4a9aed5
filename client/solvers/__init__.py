"""Stage I: how a machine finds the minimiser of its local risk."""
