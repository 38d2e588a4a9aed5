"""The pages: no dead links, no settings without a word; and where MkDocs is installed, the site."""

import re
import subprocess
import sys
from importlib.util import find_spec
from os import environ
from pathlib import Path

import pytest

from tagma.choices import choices, groups

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
FENCE = re.compile(r"^```.*?^```", re.S | re.M)
sys.path.insert(0, str(ROOT / "docs/make"))


def anchors(page: Path) -> set[str]:
    """Those that a repository's own view gives to headings."""
    text = FENCE.sub("", page.read_text())
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w -]", "", title).strip().replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page):
    for link, anchor in LINK.findall(FENCE.sub("", page.read_text())):
        target = (page.parent / link).resolve() if link else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}#{anchor}"


def test_the_first_page_leads_to_all_others():
    index = (ROOT / "docs/index.md").read_text()
    linked = {link for link, _ in LINK.findall(index)}
    there = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.ipynb")]
    assert {page.name for page in there} - linked == {"index.md"}


@pytest.mark.parametrize("group", sorted({*groups()} - {"preset", "bench"}))
def test_the_reference_has_a_default_and_a_word_for_every_setting(group):
    from reference_pages import about, every_setting  # of docs/make

    for name in choices(group):
        text = (ROOT / "conf" / group / f"{name}.yaml").read_text()
        assert about(text), name
        for key, (default, comment) in every_setting(group, name).items():
            assert default or comment, f"{group}/{name}: {key}"


def test_the_reference_reads_nested_and_inherited_settings():
    from reference_pages import every_setting, settings

    text = "# Top.\na: 1   # one\nb:   # two\n  c: [x]\n  d: null # three\ne: f\n"
    found = {"a": ("1", "one"), "b": ("", "two"), "b.c": ("[x]", ""), "b.d": ("null", "three")}
    assert settings(text) == found | {"e": ("f", "")}
    assert {"fraction", "clients", "z"} <= every_setting("attack", "alie").keys()
    assert every_setting("strategy", "_screened")["quarantine"][0] == "true"


@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="pip install '.[docs]'")
def test_the_site_is_built_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    make = subprocess.run(["make", ".types"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert make.returncode == 0, make.stderr
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env=environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = {
        page.relative_to(tmp_path).as_posix(): page.read_text() for page in tmp_path.rglob("*.html")
    }
    assert "trimmed_kmeans" in pages["reference/clustering.html"]
    assert "tagma.Clustered" in pages["reference/python.html"]
    assert "def midrange" not in pages["reference/rules.html"]
    assert "source/strategies/aggregation/rule.py.html" in pages
    loaded = r'<(?:script|img|iframe)[^>]* src="?https?:|<link rel="?stylesheet"? href="?https?:'
    assert [name for name, page in pages.items() if re.search(loaded, page)] == []
