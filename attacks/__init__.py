"""What Byzantine clients do, and how it reaches a client or the whole federation."""
