"""Experiments on their own: what a part of Tagma needs at sizes that tests do not have."""
