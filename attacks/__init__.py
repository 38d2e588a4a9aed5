"""What Byzantine machines do, and how it reaches a client or the whole federation."""
