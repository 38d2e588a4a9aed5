import pytest

from tagma.errors import TagmaError
from tagma.launch.compare import main
from tests.conftest import SMALL


def test_one_federation_three_ways(capsys):
    main([*SMALL, "rounds=1", "attack=none"])
    out = capsys.readouterr().out
    for way in ("not robust", "preset=paper", "preset=tagma", "nobody Byzantine"):
        assert way in out


def test_a_task_without_an_error_is_compared_by_its_first_score(capsys):
    main([*SMALL, "rounds=1", "attack=none", "task._target_=tests.report.signs_task.Signs"])
    out = capsys.readouterr().out
    assert "accuracy" in out
    assert "estimation error" not in out
    rows = [line for line in out.splitlines() if line.startswith("│")]
    assert len(rows) == 4
    assert all(0.5 < float(row.split("│")[-2]) <= 1 for row in rows)


def test_own_data_are_compared_by_their_loss_without_an_oracle(capsys):
    main([*SMALL, "rounds=1", "attack=none", "task._target_=tests.report.own_data.OwnData"])
    out = capsys.readouterr().out
    assert "loss" in out
    assert "nobody Byzantine" not in out


def test_what_makes_the_difference_cannot_be_set():
    with pytest.raises(TagmaError, match=r"clustering.k=3: tagma compare chooses this itself"):
        main(["clustering.k=3"])


@pytest.mark.parametrize(
    "setting",
    [
        "strategy.quarantine=true",
        "strategy.readmission=true",
        "strategy.reply_check=false",
        "strategy.spectral_filter=true",
    ],
)
def test_stages_that_the_presets_choose_cannot_be_set(setting):
    with pytest.raises(TagmaError, match=f"{setting}: tagma compare chooses this itself"):
        main([setting])


def test_progress_names_the_way_it_is_on(capsys, monkeypatch):
    monkeypatch.setattr("tagma.launch.progress_bar._PAUSE", -1.0)
    main([*SMALL, "rounds=1", "attack=none"])
    progress = capsys.readouterr().err
    for way in ("not robust", "preset=paper", "preset=tagma", "nobody Byzantine"):
        assert way in progress
