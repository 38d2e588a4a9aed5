"""Handwritten digits, learnt by many clients: an ordinary Flower app."""
