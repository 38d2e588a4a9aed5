"""The algorithm: stage II clustering, stage III aggregation, and their Flower Strategy."""
