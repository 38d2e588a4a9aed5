"""The server side: wiring, the ServerApp, evaluation against the truth, the results."""
