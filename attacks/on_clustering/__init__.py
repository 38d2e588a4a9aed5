"""Attacks on stage II: colluding clients that forge local models to spoil the clusters."""
