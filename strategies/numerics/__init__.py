"""What rules and clusterings compute with: Gram matrices, medians, eigenpairs, noise edges."""
