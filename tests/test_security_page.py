"""The page about security names tests, files and commands that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_what_the_page_names_is_there():
    page = (ROOT / "docs/security.md").read_text()
    files = set(re.findall(r"`([\w/]+\.(?:py|txt))`", page))
    assert len([name for name in files if name.startswith(("tests/", "docker/"))]) > 15
    for name in files:
        assert (ROOT / name).is_file(), name
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"`make ([a-z-]+)", page)) <= set(targets)
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text()


def test_links_within_the_docs_lead_to_a_heading():
    for name in ("security", "deployment", "running"):
        for page, heading in re.findall(
            r"\]\(([\w-]+\.md)?#([\w-]+)\)", (ROOT / f"docs/{name}.md").read_text()
        ):
            text = (ROOT / "docs" / (page or f"{name}.md")).read_text()
            slugs = {
                re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
                for line in text.splitlines()
                if line.startswith("#")
            }
            assert heading in slugs, f"{name}: {page}#{heading}"
