"""The benchmarks by name, and what they say of themselves."""

import psutil
import pytest

from tagma.bench.bench_command import _BENCHES, main
from tagma.bench.peak_memory import peak_memory
from tagma.choices import choices
from tagma.errors import TagmaError


@pytest.mark.parametrize("name", [*_BENCHES, "quick", "bench=quick"])
def test_every_benchmark_teaches_its_use(name, capsys):
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: tagma bench ")
    assert "\n\noptions:\n" in said
    assert len(said.splitlines()) > 5


@pytest.mark.parametrize("name", [*_BENCHES, "quick"])
def test_an_option_that_does_not_exist_is_one_line(name):
    with pytest.raises(TagmaError, match=r"^--fast: there is no such option; [^\n]*$"):
        main([name, "--fast"])


def test_the_help_names_every_grid_and_benchmark(capsys):
    for arguments in ([], ["--help"]):
        main(arguments)
        said = capsys.readouterr().out
        assert all(f"\n  {name} " in said for name in (*_BENCHES, *choices("bench")))


def test_the_peak_is_no_less_than_what_is_used_now():
    now = psutil.Process().memory_info().rss
    assert now <= peak_memory() < 100 * now
