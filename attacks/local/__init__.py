"""Attacks by a client that sees its own data, updates and model only."""
