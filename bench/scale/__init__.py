"""How costs grow with clients, coefficients and clusters."""
