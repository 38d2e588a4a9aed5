"""What MkDocs does beside its pages: `hooks` in mkdocs.yml.

The pages of docs/ link to files of the project as they lie there, which a repository's own view
shows. On the site each of these becomes a page: Markdown as it is, a notebook as text and code,
anything else as its source. The reference is made from conf/, the commands' help and docstrings.
"""

import json
import re
import sys
from collections.abc import Iterator
from os.path import relpath
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from reference_pages import reference_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!\w+:|#|/)([^)#\s]+)(#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".sh": "bash"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference, and a page for every file outside of docs/ that a page links to."""
    for place, text in reference_pages():
        files.append(File.generated(config, place, content=text))
    waiting, shown = [*DOCS.glob("*.md"), *DOCS.glob("*.ipynb")], set()
    while waiting:
        source = waiting.pop()
        if source in shown or not source.is_file():
            continue
        shown.add(source)
        if _is_outside(source):
            files.append(File.generated(config, _place(source), content=_page_of(source)))
        if source.suffix in (".md", ".ipynb"):
            waiting += [target for target in _targets(source) if _is_outside(target)]
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files of the project into links to their pages."""
    source = DOCS / page.file.src_uri
    return _with_links(markdown, source, page.file.src_uri) if source.is_file() else markdown


def _is_outside(target: Path) -> bool:
    return not target.is_relative_to(DOCS) or target.suffix == ".ipynb"


def _targets(source: Path) -> Iterator[Path]:
    for found in LINK.finditer(_text_of(source)):
        yield _file(source, found[1])


def _file(source: Path, link: str) -> Path:
    """What a link of a file leads to; of a folder, its README."""
    target = (source.parent / link).resolve()
    return target / "README.md" if target.is_dir() else target


def _place(target: Path) -> str:
    """The page of a file, from the root of the site."""
    if not _is_outside(target):
        return target.relative_to(DOCS).as_posix()
    if target.suffix == ".ipynb":
        return f"{target.relative_to(DOCS).as_posix()}.md"
    name = target.relative_to(ROOT).as_posix()
    return f"source/{name.removesuffix('.md')}.md"


def _with_links(text: str, source: Path, place: str) -> str:
    def changed(found: re.Match[str]) -> str:
        target = _file(source, found[1])
        if not target.is_file() or not target.is_relative_to(ROOT):
            return found[0]  # a dead link, which MkDocs reports
        return f"]({relpath(_place(target), Path(place).parent)}{found[2] or ''})"

    return LINK.sub(changed, text)


def _page_of(source: Path) -> str:
    name = source.relative_to(ROOT).as_posix()
    if source.suffix in (".md", ".ipynb"):
        return _with_links(_text_of(source), source, _place(source))
    language = LANGUAGES.get(source.suffix, "text")
    text = source.read_text(encoding="utf-8")
    return f"---\nsearch:\n  exclude: true\n---\n# {name}\n\n~~~~{language}\n{text}~~~~\n"


def _text_of(source: Path) -> str:
    text = source.read_text(encoding="utf-8")
    if source.suffix != ".ipynb":
        return text
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in _cells(text)]
    return "\n\n".join(f"```python\n{t}\n```" if kind == "code" else t for kind, t in cells)


def _cells(text: str) -> list[dict[str, Any]]:
    return json.loads(text)["cells"]
