"""A figure of a report as an object: an image in a notebook, a file elsewhere."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tagma.atomic_file import whole_file
from tagma.errors import TagmaError
from tagma.escaping import one_line
from tagma.report.figure_files import Sheet, draw


@dataclass(frozen=True)
class Figure:
    """A figure; `svg` is the whole of it."""

    name: str
    title: str
    svg: str

    def save(self, path: str | Path) -> Path:
        """Write the SVG file."""
        path = Path(path)
        try:
            with whole_file(path) as partial:
                partial.write_text(self.svg, encoding="utf-8")
        except OSError as problem:
            raise TagmaError(f"{path}: cannot be written ({problem.strerror})") from None
        return path

    def _repr_html_(self) -> str:
        return as_image(self.svg)

    def __repr__(self) -> str:
        return one_line(f"<Figure {self.name}: {self.title}>")


def as_image(svg: str) -> str:
    """An SVG as an element of HTML, apart from the page's own names and styles."""
    data = b64encode(svg.encode()).decode()
    return (
        f'<img style="max-width: 100%; background: white" src="data:image/svg+xml;base64,{data}">'
    )


def figure_of(sheets: Mapping[str, Sheet], name: str | None) -> Figure:
    """The figure of that name, or the first one."""
    if not sheets:
        raise TagmaError("there is no figure: too little was measured")
    chosen = next(iter(sheets)) if name is None else name
    if chosen not in sheets:
        raise TagmaError(f"{chosen}: there is no such figure; there are {', '.join(sheets)}")
    sheet = sheets[chosen]
    return Figure(chosen, sheet.title, draw(sheet))
