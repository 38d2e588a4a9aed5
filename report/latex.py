r"""LaTeX of texts, numbers and tables, for pdfTeX and its successors, with booktabs alone.

What comes from a folder may be anybody's: whatever TeX gives a meaning to is escaped, and what its
fonts do not have is replaced, so that a text can neither be a command nor stop the compiler.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagma.atomic_file import whole_file
from tagma.foreign_file import own_folder
from tagma.report.number_format import UNKNOWN
from tagma.report.short_labels import shorten

LONGEST = 40
"""Letters of a name in a table."""
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}",
    "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "[": "{[}", "]": "{]}", "*": "{*}",  # which \\ would take for its own
    "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\ldots{}", "’": "'",
    "·": r"$\cdot$", "×": r"$\times$", "−": r"$-$", "∞": r"$\infty$",
}  # fmt: skip
_POWER = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_NUMBER = re.compile(r"(−?)([\d,]+(?:\.\d+)?)?(?:( × )?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?")
_ENDS = re.compile(r"^\$|\$$")


def escaped(text: str) -> str:
    """The text as TeX sets it, on one line."""
    letters = (_SPECIAL.get(letter) or _plain(letter) for letter in " ".join(text.split()))
    return re.sub("-(?=-)", "-{}", "".join(letters))  # two of them would be a dash


def named(text: str) -> str:
    """A name that fits a table."""
    return escaped(shorten(" ".join(text.split()), LONGEST))


def comment(text: str) -> str:
    """A comment of one line; the end of a line is the only thing that could end it."""
    return f"% {''.join(_plain(letter) for letter in ' '.join(text.split()))}"


def label(*parts: str) -> str:
    """Something to refer to."""
    slugs = (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:LONGEST] for part in parts)
    return "tab:" + "-".join(slug for slug in slugs if slug)


def figure(text: str, *, bold: bool = False) -> str:
    """A number as the report writes it, in mathematics; words such as `diverged` stay words."""
    found = _NUMBER.fullmatch(text)
    if not text or found is None:
        words = escaped(text)
        return rf"\textbf{{{words}}}" if bold else words
    sign, mantissa, times, exponent = found.groups()
    shown = ("-" if sign else "") + (mantissa or "").replace(",", "{,}")
    if exponent:
        shown += (r" \times " if times else "") + f"10^{{{exponent.translate(_POWER)}}}"
    return rf"$\mathbf{{{shown}}}$" if bold else f"${shown}$"


def between(low: str, high: str) -> str:
    """An interval."""
    ends = (_ENDS.sub("", r"$\infty$" if end == "diverged" else figure(end)) for end in (low, high))
    return f"$[{', '.join(ends)}]$"


def aligned(texts: Sequence[str], bold: Sequence[bool]) -> list[str]:
    """The numbers of a column, with what puts their decimal points above each other."""
    places = [len(text.partition(".")[2]) if _is_plain(text) else 0 for text in texts]
    most = max(places, default=0)
    found = []
    for text, own, strong in zip(texts, places, bold, strict=True):
        lacking = ("" if own else ".") + "0" * (most - own)
        pad = rf"\phantom{{${lacking}$}}" if _is_plain(text) and own < most else ""
        found.append(figure(text, bold=strong) + pad)
    return found


@dataclass(frozen=True)
class LatexTable:
    """A floating table: rows of cells that are LaTeX already, in groups with a rule between."""

    caption: str
    label: str
    columns: str
    head: tuple[str, ...]
    groups: tuple[tuple[tuple[str, ...], ...], ...]

    def lines(self) -> Iterator[str]:
        """Its source."""
        yield r"\begin{table}[tbp]"
        yield r"\centering"
        yield r"\footnotesize\setlength{\tabcolsep}{4pt}"
        yield rf"\caption{{{self.caption}}}"
        yield rf"\label{{{self.label}}}"
        yield r"\par\medskip"
        yield rf"\begin{{tabular}}{{@{{}}{self.columns}@{{}}}}"
        yield r"\toprule"
        yield _row(self.head)
        for group in self.groups:
            yield r"\midrule"
            yield from map(_row, group)
        yield r"\bottomrule"
        yield r"\end{tabular}"
        yield r"\end{table}"


def write_tables(path: Path, source: str, tables: Sequence[LatexTable]) -> Path:
    """A file to be included, whole or not at all; `source` says in its head what it is of."""
    own_folder(path.parent)
    lines = [r"% Needs \usepackage{booktabs} and nothing else.", comment(source)]
    for table in tables:
        lines += ["", *table.lines()]
    with whole_file(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _is_plain(text: str) -> bool:
    """Whether it is a number without a power of ten."""
    found = _NUMBER.fullmatch(text)
    return bool(text) and found is not None and found[4] is None and text != UNKNOWN


def _plain(letter: str) -> str:
    """A letter that every TeX has; of others what is left without their accents, or a mark."""
    if " " <= letter <= "~" or ("À" <= letter <= "ž" and letter.isalpha()):
        return letter
    simple = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode("ascii")
    return simple if simple.isalnum() else "?"
