"""Models that tasks with data of any kind train: one file each, chosen by `model=`."""
