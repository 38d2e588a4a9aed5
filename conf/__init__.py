"""The Hydra configuration: config.yaml and one folder per group, one file per choice."""
