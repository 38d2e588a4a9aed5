"""The settings that a run folder keeps, wherever it was made."""

from tagma.run_settings import settings_of_run
from tagma.server.results.settings_files import keep_settings, write_settings
from tagma.settings import compose
from tests.command import tagma
from tests.conftest import SMALL


def test_what_is_written_is_read_back(tmp_path):
    settings = compose([*SMALL, "attack=alie", "output=elsewhere"])
    write_settings(tmp_path, settings)
    found = settings_of_run(tmp_path)
    assert found.choice("attack") == settings.choice("attack")
    assert found.output is None


def test_those_of_an_earlier_run_are_replaced_but_hydras_own_are_kept(tmp_path):
    keep_settings(tmp_path, compose([*SMALL, "seed=1"]))
    keep_settings(tmp_path, compose([*SMALL, "seed=2"]))
    assert settings_of_run(tmp_path).seed == 2
    file = tmp_path / ".hydra/hydra.yaml"
    file.write_text(file.read_text() + "  runtime: {}\n")
    keep_settings(tmp_path, compose([*SMALL, "seed=3"]))
    assert settings_of_run(tmp_path).seed == 2


def test_results_that_went_to_another_folder_can_be_used_there(tmp_path):
    done = tagma("run", *SMALL, "oracle=false", "rounds=1", "seed=5", "output=there", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert settings_of_run(tmp_path / "there").seed == 5
