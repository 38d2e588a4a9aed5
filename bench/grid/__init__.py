"""`tagma bench bench=NAME`: a grid of federations, one cell per combination and seed."""
