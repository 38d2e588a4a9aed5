"""Pre-aggregators: they replace rows by weighted sums of them, before a rule sees them."""
