"""What a federation of real nodes needs: keys, registration, nodes, a fast executor, compose files."""
