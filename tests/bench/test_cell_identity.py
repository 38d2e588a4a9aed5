"""What a result depends on is in its key, and nothing else."""

import pytest

from tagma.bench import cell_identity as identity
from tagma.bench.cell_identity import code_fingerprint, key_of_run
from tagma.settings import compose


def key(*overrides):
    return key_of_run(vars(compose(overrides)))


def test_what_cannot_change_a_number_does_not_count():
    assert key() == key("checkpoint_every=7", "output=elsewhere")
    assert key() != key("rounds=7")


def test_the_code_of_a_plugin_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    plugin = tmp_path / "plugin_of_a_user.py"
    plugin.write_text("def rule(updates): return updates.sum()\n")
    before = key("aggregation=mean", "aggregation._target_=plugin_of_a_user.rule")
    plugin.write_text("def rule(updates): return updates.mean(axis=0)\n")
    assert key("aggregation=mean", "aggregation._target_=plugin_of_a_user.rule") != before


@pytest.mark.parametrize("name", ["points.npz", "points"])
def test_the_content_of_a_data_file_counts(tmp_path, name):
    data = tmp_path / name
    data.write_bytes(b"one")
    before = key("task=mean_estimation", f"task.data={data}")
    data.write_bytes(b"another")
    assert key("task=mean_estimation", f"task.data={data}") != before


def test_the_engine_of_the_cells_and_the_attacks_that_others_name_are_part_of_the_code(
    tmp_path, monkeypatch
):
    (tmp_path / "attack").mkdir()
    attack = tmp_path / "attack" / "ipm.yaml"
    monkeypatch.setattr(identity, "CONF", tmp_path)
    seen = set()
    for content in ("scale: 5.0", "scale: 6.0", "scale: 6.0  # a comment"):
        attack.write_text(content)
        code_fingerprint.cache_clear()
        seen.add(code_fingerprint())
    code_fingerprint.cache_clear()
    assert len(seen) == 2
    assert "launch/engines/inprocess_grid.py" in identity._THAT_COMPUTE
    assert all((identity._ROOT / name).exists() for name in identity._THAT_COMPUTE)


def test_a_text_that_cannot_be_a_file_counts_as_text():
    assert not list(identity._named({"a": "x" * 5000, "b": "no\0file", "c": ""}))
