"""What Flower's private parts force on us, in one place."""
