"""Attacks by colluding clients that see every honest update of the round."""
