"""The paper's experiments, each by one command."""
