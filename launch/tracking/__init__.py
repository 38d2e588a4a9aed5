"""Trackers: programs that collect the results of many runs, told of a run while it goes on."""
