"""What every Tagma package shares: errors, random streams, the wire format and plugin building."""

__version__ = "0.1.0"
