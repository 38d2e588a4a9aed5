"""What a federation of real nodes needs: keys, registration, nodes, proxy, compose files."""
