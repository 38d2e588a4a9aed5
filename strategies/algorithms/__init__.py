"""Algorithms as state machines on arrays, one file each; none knows Flower, torch or Hydra."""
