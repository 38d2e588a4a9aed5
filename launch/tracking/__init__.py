"""Trackers: programs that collect the results of many runs, which follow a run while it goes on."""
