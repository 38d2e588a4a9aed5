"""Tables for papers: the numbers of the page, and nothing of a folder that TeX would obey."""

import re
from pathlib import Path

import pytest

from tagma.errors import TagmaError
from tagma.report.bench_latex import write_bench_latex
from tagma.report.latex import aligned, between, escaped, figure, label
from tagma.report.run_latex import write_run_latex
from tests.command import tagma
from tests.report.report_folders import (
    ATTACK,
    DEFENCE,
    bench_folder,
    folder,
    grid_rows,
    rows_where,
)

HOSTILE = "\\input{/etc/passwd}%$&#_^^~{}[*]--'`\"\n\\end{document}\x00\ud800\u202eא🙂" + "w" * 5000
OURS = {
    "begin", "end", "centering", "footnotesize", "setlength", "tabcolsep", "caption", "label",
    "par", "medskip", "toprule", "midrule", "bottomrule", "scriptsize", "phantom", "mathbf",
    "times", "infty", "textbf", "texttt", "usepackage",
}  # fmt: skip
HARMLESS = {
    "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar",
    "textquotesingle", "textasciigrave", "textendash", "textemdash", "ldots", "cdot", "char",
}  # fmt: skip


def rows_of(text: str) -> list[list[str]]:
    """The rows of the tables in a file, without what only moves them."""
    lines = [line.removesuffix(r" \\") for line in text.splitlines() if line.endswith(r"\\")]
    bare = [re.sub(r"\\phantom\{[^}]*\}|\{\\scriptsize |(?<=\$)\}|\$", "", one) for one in lines]
    return [[cell.strip() for cell in line.split("&")] for line in bare]


def tables(path: Path, *args, **index) -> dict[str, str]:
    return {
        one.stem: one.read_text() for one in write_bench_latex(bench_folder(path, *args, **index))
    }


def test_every_defence_has_its_worst_case_in_bold_and_an_interval(tmp_path):
    found = tables(tmp_path / "bench", pictures=False)
    rows = rows_of(found["attacks"])
    assert rows[0] == ["", "tagma", "paper", "undefended"]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["none"] == ["0.120", "0.130", "0.110"]
    assert by_name[r"sign\_flip"][:2] == ["0.160", "0.210"]
    assert by_name["alie"][:2] == [r"\mathbf{0.170}", r"\mathbf{0.260}"]
    assert by_name["worst case"] == [r"\mathbf{0.170}", r"\mathbf{0.260}", r"\textbf{diverged}"]
    assert rows[2] == ["", "[0.110, 0.130]", "[0.120, 0.140]", "[0.100, 0.120]"]
    (first, interval, *_) = rows_of(found["leaderboard"])[1:]
    assert first == ["1", "tagma", "0.170", "alie", r"0\%", "1.20", "0"]
    assert interval == ["", "", "[0.160, 0.180]", "", "", "", ""]


def test_a_score_that_should_be_high_is_worst_where_it_is_lowest(tmp_path):
    rows = [
        row | {"accuracy": 0.9 - row["estimation_error"] / 1e3}
        for row in rows_where(defence="paper")
    ]
    named = {"metric": "accuracy", "better": {"accuracy": "high"}, "metrics": ["accuracy"]}
    found = tables(tmp_path / "bench", rows, pictures=False, **named)
    assert "the lowest mean accuracy" in found["leaderboard"]
    bold = [row for row in rows_of(found["attacks"]) if "mathbf" in "".join(row)]
    assert [row[0] for row in bold] == ["none", r"sign\_flip", "alie", "worst case"]  # all 0.900


def test_grid_seeds_and_command_are_in_every_caption(tmp_path):
    for text in tables(tmp_path / "bench", pictures=False).values():
        assert (
            r"Grid \texttt{small}, 3 seeds (0, 1, 2), by \texttt{tagma bench bench=small}." in text
        )
        assert text.startswith("% Needs \\usepackage{booktabs} and nothing else.\n")


def test_what_is_too_wide_or_long_goes_on_in_another_table_and_nothing_is_lost(tmp_path):
    attacks, defences = [f"a{i}" for i in range(23)], [f"d{i}" for i in range(7)]
    rows = [
        {"cell": f"{a}{d}", "attack": a, "defence": d, "seed": 0, "status": "ok", "reason": "",
         "estimation_error": 1 + i + 100 * j, "misclustering": 0}
        for i, a in enumerate(attacks) for j, d in enumerate(defences)
    ]  # fmt: skip
    axes = [ATTACK | {"values": attacks}, DEFENCE | {"values": defences}]
    text = tables(tmp_path / "bench", rows, axes, pictures=False)["attacks"]
    assert text.count(r"\begin{table}") == 4
    assert len(set(re.findall(r"\\label\{.*\}", text))) == 4
    numbers = re.findall(r"\d+", " ".join(cell for row in rows_of(text) for cell in row[1:]))
    assert {str(1 + i + 100 * j) for i in range(23) for j in range(7)} <= set(numbers)
    heads = [row for row in rows_of(text) if row[0] == "" and row[1].startswith("d")]
    assert [name for row in (heads[0], heads[2]) for name in row[1:]] == defences


def test_settings_have_tables_of_their_own(tmp_path):
    other = {"key": "task.dim", "label": "dim", "role": "other", "values": ["5", "9"]}
    rows = [
        row | {"task.dim": dim, "cell": f"{row['cell']}-{dim}"}
        for dim in ("5", "9")
        for row in grid_rows()
    ]
    found = tables(tmp_path / "bench", rows, [ATTACK, DEFENCE, other], pictures=False)
    for text in found.values():
        assert text.count(r"\begin{table}") == 2
        assert ["dim 5. " in part for part in text.split(r"\end{table}")] == [True, False, False]


def test_a_bench_without_its_metric_has_no_table(tmp_path):
    rows = [row | {"estimation_error": ""} for row in grid_rows()]
    with pytest.raises(TagmaError, match="no run has the estimation error"):
        tables(tmp_path / "bench", rows, pictures=False)


def test_nothing_in_a_folder_is_a_command(tmp_path):
    name = HOSTILE.replace("\ud800", "")
    rows = [row | {"defence": name, "attack": name[::-1]} for row in rows_where(seed=0)]
    axes = [ATTACK | {"values": [name[::-1]]}, DEFENCE | {"values": [name]}]
    found = tables(
        tmp_path / "bench", rows[:1], axes, pictures=False, name=HOSTILE, command=HOSTILE,
        title=HOSTILE, metric="estimation_error",
    )  # fmt: skip
    run = folder(
        tmp_path / "run",
        overrides=[name.replace("🙂", "")],
        settings={"task": HOSTILE, "attack": HOSTILE},
    )
    found["scores"] = write_run_latex(run)[0].read_text()
    for text in found.values():
        head, *body = text.split("\n\n", 1)
        assert [line[0] for line in head.splitlines()] == ["%", "%"]
        harmless(body[0])
        assert len(text) < 10_000


def harmless(source: str) -> None:
    """Only our own commands, balanced braces, and no character that ends a line or a cell."""
    assert set(re.findall(r"\\([a-zA-Z]+)", source)) <= OURS | HARMLESS
    bare = re.sub(r"\\[\\{}$&#%_]", "", source)
    assert "%" not in bare
    assert "#" not in bare
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert re.findall(r"\\\\\s*[\[*]", source) == []
    assert all(letter == "\n" or letter >= " " for letter in source)
    assert source.isascii()
    for table in source.split(r"\end{table}"):
        rows = [line.replace(r"\&", "") for line in table.splitlines() if line.endswith(r"\\")]
        assert len({row.count("&") for row in rows}) == (1 if rows else 0)


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("0.131", "$0.131$"),
        ("−12,300", "$-12{,}300$"),
        ("2 × 10⁻⁴", r"$2 \times 10^{-4}$"),
        ("10⁵", "$10^{5}$"),
        ("diverged", "diverged"),
        ("–", r"\textendash{}"),
    ],
)
def test_numbers_are_those_of_the_report(text, tex):
    assert figure(text) == tex


def test_decimal_points_stand_above_each_other():
    texts = ["0.131", "12.0", "669", "2 × 10⁴", "diverged"]
    assert aligned(texts, [False] * 5) == [
        "$0.131$", r"$12.0$\phantom{$00$}", r"$669$\phantom{$.000$}",
        r"$2 \times 10^{4}$", "diverged",
    ]  # fmt: skip


def test_intervals_may_be_open_ended():
    assert between("0.1", "diverged") == r"$[0.1, \infty]$"


def test_letters_that_tex_has_stay_and_others_are_replaced():
    assert escaped("Bézier–Łukasz · ﬁx") == r"Bézier\textendash{}Łukasz $\cdot$ fix"
    assert escaped("שלום") == "????"
    assert escaped("a--b") == "a-{}-b"
    assert label("Ein\\Grid%", "", "x y") == "tab:ein-grid-x-y"


def test_a_run_has_a_table_of_its_scores(tmp_path):
    (path,) = write_run_latex(folder(tmp_path / "run"))
    assert rows_of(path.read_text()) == [
        ["", "this run", "oracle, the true clusters"],
        ["estimation error", "0.130", "0.125"],
        ["misclustered honest clients", r"0\%", ""],
    ]


def test_the_command_says_where_the_tables_are(tmp_path):
    bench_folder(tmp_path / "bench", pictures=False)
    done = tagma("report", "bench", "--latex", cwd=tmp_path)
    assert done.returncode == 0
    for name in ("leaderboard", "attacks"):
        assert f"table: bench/tables/{name}.tex" in done.stdout
        assert (tmp_path / "bench" / "tables" / f"{name}.tex").is_file()


@pytest.mark.parametrize("name", ["tables", "figures"])
def test_a_link_is_not_followed(name, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bench_folder(tmp_path / "bench", pictures=False)
    (tmp_path / "bench" / name).symlink_to(elsewhere)
    done = tagma("report", "bench", "--latex", cwd=tmp_path)
    assert (done.returncode, list(elsewhere.iterdir())) == (2, [])
    assert f"{name}: is a link" in done.stderr
