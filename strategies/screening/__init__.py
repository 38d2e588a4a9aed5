"""Whose replies count, where newcomers belong, and which clusters can be trusted."""
