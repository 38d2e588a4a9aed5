"""A task as a user would bring it: data of which nobody knows the true clusters."""

from tagma.tasks.mixture_regression import MixtureRegression


class OwnData(MixtureRegression):
    """Regressions of several groups, and no word about which client is in which."""

    def truth(self) -> None:  # type: ignore[override]
        """Nobody knows."""
