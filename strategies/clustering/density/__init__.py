"""Density clustering in a robust projection, part by part."""
