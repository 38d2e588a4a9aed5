"""Flower's own loop, to compare with."""
