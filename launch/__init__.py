"""The `tagma` command, the engines, and a run from start to table."""
