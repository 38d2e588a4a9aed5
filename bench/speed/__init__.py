"""Benchmarks of speed and memory, each by one command: `tagma bench NAME`."""
