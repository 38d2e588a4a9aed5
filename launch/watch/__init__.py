"""The live page: a small web server on loopback, and what it shows of a folder."""
