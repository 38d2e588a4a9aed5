"""Attacks with a goal: models are to give certain inputs the class that the attack has chosen."""
