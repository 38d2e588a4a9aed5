"""Where server and clients run. All engines give the same numbers for the same seed."""
