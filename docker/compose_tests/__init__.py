"""The demo on a real Docker engine: `make test-compose`."""
