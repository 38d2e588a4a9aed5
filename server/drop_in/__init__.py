"""Tagma in anybody's Flower app: Strategies that take the place of Flower's FedAvg."""
