"""A setting without an effect is told in one line; one with an effect is not."""

import pytest

from tagma.errors import SettingError
from tagma.launch.run import check
from tagma.server.unused_settings import notices_of_unused
from tagma.server.wiring import warnings_of
from tagma.settings import compose
from tests.conftest import SMALL

LOCAL = "optimiser=local"


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (
            ["training=minibatch", LOCAL, "optimiser.step=0.3"],
            "optimiser.step=0.3 has no effect: clients train by training.learning_rate=0.1",
        ),
        (
            ["training=adam", LOCAL, "optimiser.local_steps=7"],
            "optimiser.local_steps=7 has no effect: clients train by training.epochs=5",
        ),
        (
            [LOCAL, "optimiser.local_steps=7", "training.steps=3"],
            "optimiser.local_steps=7 has no effect: clients train by training.steps=3",
        ),
        (
            ["task=rotated_digits", "optimiser.step=0.5"],
            "optimiser.step=0.5 has no effect: clients train by training.learning_rate=0.1",
        ),
        (
            ["device=cuda"],
            "device=cuda has no effect: MixtureRegression computes on the processor, "
            "and so does training",
        ),
        (
            ["task=rotated_digits", "device=cuda"],
            "device=cuda has no effect: Images computes on the processor, and so does training",
        ),
    ],
)
def test_what_has_no_effect_is_told_in_one_line(overrides, line):
    settings = compose(overrides)
    assert notices_of_unused(settings) == [line]
    assert line in warnings_of(settings)


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["optimiser.step=0.3"],
        [LOCAL, "optimiser.step=0.3", "optimiser.local_steps=7"],
        [LOCAL, "training=minibatch"],
        [LOCAL, "training=minibatch", "optimiser.step=0.2", "training.learning_rate=0.2"],
        ["training=minibatch", "optimiser.step=0.3"],  # the server's, of gradients
        ["device=auto"],
        [LOCAL, "training=adam", "device=cuda"],
    ],
)
def test_nothing_is_said_of_what_is_used(overrides):
    assert notices_of_unused(compose([*SMALL, *overrides])) == []


def test_training_is_checked_before_a_run():
    with pytest.raises(SettingError, match=r"^training.epochs=-1: "):
        check(compose([*SMALL, LOCAL, "training=minibatch", "training.epochs=-1"]))
