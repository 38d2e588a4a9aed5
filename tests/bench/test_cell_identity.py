"""What a result depends on is in its key, and nothing else."""

import sys

import pytest

from tagma.bench import cell_identity as identity
from tagma.bench.cell_identity import code_fingerprint, config_of_run, versions
from tagma.bench.federation_cell import FederationCell
from tagma.bench.plugin_files import plugin_files
from tagma.settings import compose


def key(*overrides):
    return config_of_run(vars(compose(overrides)))


@pytest.fixture(autouse=True)
def _fresh_fingerprint():
    code_fingerprint.cache_clear()
    yield
    code_fingerprint.cache_clear()


def test_what_cannot_change_a_number_does_not_count():
    assert key() == key("checkpoint_every=7", "output=elsewhere")
    assert key() != key("rounds=7")


RULE = ("aggregation=mean", "aggregation._target_=plugin_of_a_user.rule")


def test_the_code_of_a_plugin_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    plugin = tmp_path / "plugin_of_a_user.py"
    plugin.write_text("def rule(updates): return updates.sum()\n")
    before = key(*RULE)
    plugin.write_text("def rule(updates):\n    '''Mine.'''\n    return updates.sum()  # a note\n")
    assert key(*RULE) == before
    plugin.write_text("def rule(updates): return updates.mean(axis=0)\n")
    assert key(*RULE) != before


@pytest.mark.parametrize("root", [".", ".."])
def test_a_plugin_counts_wherever_it_lies_also_under_our_own_root(tmp_path, monkeypatch, root):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(identity, "_ROOT", (tmp_path / root).resolve())
    plugin = tmp_path / "plugin_of_a_user.py"
    seen = set()
    for power in (1, 2):
        plugin.write_text(f"def rule(updates): return updates ** {power}\n")
        seen.add(key(*RULE))
    assert len(seen) == 2


def test_what_lies_beside_a_plugin_in_its_package_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "package_of_a_user"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rules.py").write_text("from .powers import POWER\n")
    target = ("aggregation=mean", "aggregation._target_=package_of_a_user.rules.rule")
    seen = set()
    for power in (1, 2):
        (package / "powers.py").write_text(f"POWER = {power}\n")
        seen.add(key(*target))
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("plugin", "between"),
    [
        ("from helper_of_a_user import POWER\n", {}),
        ("import helper_of_a_user\n", {}),
        ("def rule(updates):\n    from helper_of_a_user import POWER\n", {}),
        ("from step_of_a_user import *\n", {"step_of_a_user.py": "import helper_of_a_user\n"}),
        (
            "from tools_of_a_user import step\n",
            {
                "tools_of_a_user/__init__.py": "",
                "tools_of_a_user/step.py": "import helper_of_a_user\nfrom .. import nothing\n",
            },
        ),
        ("import tools_of_a_user.step\n", {"tools_of_a_user/step.py": "import helper_of_a_user\n"}),
    ],
)
def test_what_a_plugin_imports_counts_at_any_remove(tmp_path, monkeypatch, plugin, between):
    monkeypatch.syspath_prepend(tmp_path)
    for name, content in {"plugin_of_a_user.py": plugin, **between}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    seen = []
    for content in ("POWER = 1\n", "POWER = 1  # a note\n", "POWER = 2\n"):
        (tmp_path / "helper_of_a_user.py").write_text(content)
        seen.append(key(*RULE))
    assert seen[0] == seen[1] != seen[2]
    assert "helper_of_a_user" not in sys.modules


def test_what_lies_beside_a_plugin_and_is_not_imported_does_not_count(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plugin_of_a_user.py").write_text("import numpy, tagma.rng, no_such_module\n")
    seen = set()
    for power in (1, 2):
        (tmp_path / "helper_of_a_user.py").write_text(f"POWER = {power}\n")
        seen.add(key(*RULE))
    assert len(seen) == 1
    assert plugin_files("plugin_of_a_user") == [tmp_path / "plugin_of_a_user.py"]


def test_of_installed_libraries_only_the_plugins_own_is_followed(tmp_path, monkeypatch):
    libraries = tmp_path / "site-packages"
    for name in ("mine_of_a_user", "other_of_a_user"):
        (libraries / name).mkdir(parents=True)
        (libraries / name / "__init__.py").write_text("import other_of_a_user\n")
        (libraries / name / "part.py").touch()
    rules = libraries / "mine_of_a_user" / "rules.py"
    rules.write_text("from mine_of_a_user import part\nimport single_of_a_user\n")
    (libraries / "single_of_a_user.py").touch()
    monkeypatch.syspath_prepend(libraries)
    found = [
        file.relative_to(libraries).as_posix() for file in plugin_files("mine_of_a_user.rules")
    ]
    package = [f"mine_of_a_user/{name}.py" for name in ("__init__", "part", "rules")]
    assert found == [*package, "single_of_a_user.py"]


@pytest.mark.parametrize("name", ["points.npz", "points"])
def test_the_content_of_a_data_file_counts(tmp_path, name):
    data = tmp_path / name
    data.write_bytes(b"one")
    before = key("task=mean_estimation", f"task.data={data}")
    data.write_bytes(b"another")
    assert key("task=mean_estimation", f"task.data={data}") != before


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("def f(x):\n    return x + 1\n", True),
        ('"""Another text."""\ndef f(x):  # why\n    """What."""\n\n    return (x + 1)\n', True),
        ("def f(x):\n    return x + 2\n", False),
        ("def f(x):\n    return x + '1'\n", False),
    ],
)
def test_of_our_code_comments_and_docstrings_do_not_count(tmp_path, monkeypatch, other, same):
    monkeypatch.setattr(identity, "_ROOT", tmp_path)
    file = tmp_path / "strategies" / "rule.py"
    file.parent.mkdir()
    file.write_text('"""A text."""\ndef f(x):\n    return x + 1\n\nLIMIT = 3\n"""Of f."""\n')
    before = code_fingerprint()
    file.write_text(other + "LIMIT = 3\n")
    code_fingerprint.cache_clear()
    assert (code_fingerprint() == before) is same


@pytest.mark.parametrize("library", ["numpy", "scipy", "scikit-learn", "torch", "flwr"])
def test_the_version_of_a_library_that_computes_counts(monkeypatch, library):
    before, true_version = code_fingerprint(), identity.version
    assert versions()[library] == true_version(library)
    monkeypatch.setattr(
        identity, "version", lambda name: "0.0" if name == library else true_version(name)
    )
    code_fingerprint.cache_clear()
    assert code_fingerprint() != before


def test_a_cell_that_keeps_a_picture_is_another_than_one_that_does_not():
    settings = compose([])
    with_picture, without = (FederationCell("a", 0, settings, picture=p) for p in (True, False))
    assert with_picture.key != without.key
    assert with_picture.configuration == without.configuration


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
    assert len(seen) == 2
    assert all((identity._ROOT / name).exists() for name in identity._THAT_COMPUTE)
    places = [place for place, _ in identity._sources()]
    assert {"rng.py", "launch/engines/inprocess_grid.py"} < set(places)
    assert len(places) == len(set(places))


def test_a_text_that_cannot_be_a_file_counts_as_text():
    assert not list(identity._named({"a": "x" * 5000, "b": "no\0file", "c": ""}))
