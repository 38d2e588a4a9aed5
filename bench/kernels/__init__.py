"""`tagma bench kernels`: our aggregation kernels beside everyone else's."""
