"""Examples from files or packages, and which client holds which of them."""
