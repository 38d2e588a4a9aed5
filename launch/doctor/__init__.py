"""`tagma doctor`: what of this computer and this installation will not work, and why."""
