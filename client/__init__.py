"""The client side: ClientApp, local solvers, gradients, local steps and evaluation."""
