"""Attacks with a goal: honest clients' models are to give certain inputs the class of the attack."""
