"""Figures as PDF: all that is in the SVG, in lines and letters, on white."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex

from tagma.report import write_bench_report, write_run_report
from tagma.report.figure_files import style
from tagma.report.figure_pdf import drawn
from tagma.report.svg_style import StyleSheet
from tests.command import tagma
from tests.report.report_folders import HOSTILE, bench_folder, folder

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def benched(tmp_path_factory):
    path = bench_folder(tmp_path_factory.mktemp("pdf") / "bench")
    write_bench_report(path, pdf=True)
    return path


def test_every_figure_is_there_in_each_form(benched):
    found = {
        end: {file.stem for file in (benched / "figures").glob(f"*.{end}")}
        for end in ("svg", "csv", "pdf")
    }
    assert found["pdf"] == found["svg"] == found["csv"] >= {"leaderboard", "heatmap", "rounds"}


def test_letters_are_embedded_as_truetype_and_nothing_is_pixels(benched):
    for file in (benched / "figures").glob("*.pdf"):
        content = file.read_bytes()
        assert content.startswith(b"%PDF-")
        assert b"/FontFile2" in content
        assert b"/CIDFontType2" in content
        assert b"/Type3" not in content
        assert b"/Subtype /Image" not in content


def test_a_pdf_has_every_word_and_mark_of_the_svg_on_white(benched):
    for file in (benched / "figures").glob("*.svg"):
        root = ElementTree.parse(file).getroot()
        (axes,) = drawn(file.read_text(), style(paper="#ffffff")).axes
        words = [
            "".join([one.text or "", *(child.tail or "" for child in one)]).strip()
            for name in ("text", "tspan")
            for one in root.iter(SVG + name)
        ]
        assert sorted(text.get_text() for text in axes.texts) == sorted(words)
        kinds = ("path", "circle", "rect", "use")
        shapes = [one for kind in kinds for one in root.iter(SVG + kind) if "id" not in one.attrib]
        seen = [one for one in shapes if one.get("d") != "" and one.get("class") != "spot"]
        assert len(axes.patches) == len(seen) > 5
        paper = axes.patches[0]
        assert to_hex(paper.get_facecolor()) == "#ffffff"
        extent = paper.get_path().get_extents()
        assert (extent.width, extent.height) == (
            float(root.get("width")),
            float(root.get("height")),
        )


def test_what_is_on_a_page_of_another_run_of_the_command_stays_current(tmp_path):
    path = folder(tmp_path / "run")
    write_run_report(path)
    assert not [*path.glob("figures/*.pdf")]
    assert tagma("report", "run", "--pdf", cwd=tmp_path).returncode == 0
    (path / "figures" / "error.pdf").write_bytes(b"old")
    write_run_report(path)
    assert (path / "figures" / "error.pdf").read_bytes().startswith(b"%PDF-")


def test_hostile_words_are_letters(tmp_path):
    words = HOSTILE.replace("\ud800", "") + "$x$ \u202e\x00 $\\frac{"
    rows = [
        {"cell": "a", "attack": attack, "defence": words, "seed": 0, "status": "ok", "reason": "",
         "estimation_error": 1 + i, "misclustering": 0}
        for i, attack in enumerate((words[::-1], "none"))
    ]  # fmt: skip
    axes = [
        {"key": "attack", "role": "attack", "values": [words[::-1], "none"]},
        {"key": "defence", "role": "defence", "values": [words]},
    ]
    path = bench_folder(tmp_path / "bench", rows, axes, pictures=False)
    write_bench_report(path, pdf=True)
    assert (path / "figures" / "heatmap.pdf").read_bytes().startswith(b"%PDF-")


def only(svg, css="", kind="patches"):
    (artist,) = getattr(
        drawn(f'<svg xmlns="{SVG[1:-1]}" width="90" height="60">{svg}</svg>', css).axes[0], kind
    )
    return artist


def test_paths_are_where_svg_has_them():
    path = only('<path d="M10 20h5V30l-2 3H1Z"/>').get_path()
    expected = [(10, 20), (15, 20), (15, 30), (13, 33), (1, 33), (10, 20)]
    np.testing.assert_allclose(path.vertices, expected)
    circle = only('<circle cx="30" cy="20" r="4"/>').get_path()
    radii = np.hypot(*(circle.to_polygons()[0] - (30, 20)).T)
    np.testing.assert_allclose(radii, 4, rtol=1e-2)
    moved = only(
        '<defs><path id="s" d="M0 0L2 0"/></defs>'
        '<g transform="translate(10 20)"><use href="#s" transform="rotate(90) scale(3)"/></g>'
    )
    np.testing.assert_allclose(moved.get_path().vertices, [(10, 20), (10, 26)], atol=1e-9)


def test_a_text_stands_where_it_is_told():
    css = "text { fill: #123456; } .end { text-anchor: end; } .high { font-weight: 600; }"
    text = only('<text class="end high" x="5" y="6" dy="1em">a $b$</text>', css, "texts")
    assert text.get_position() == (5, 19)
    assert (text.get_ha(), text.get_color(), text.get_weight()) == ("right", "#123456", "bold")
    assert not text.get_parse_math()


def test_the_more_particular_rule_wins_and_children_inherit():
    sheet = StyleSheet(
        "/* text { fill: none; } */ .mark.big { fill: red; } .mark { fill: blue; opacity: .5; }"
        ".a text, .b text.x { fill: green; } .mark:hover { fill: black; }"
    )
    mark, big = ("use", frozenset({"mark"})), ("use", frozenset({"mark", "big"}))
    assert sheet.of([mark], {}) == {"fill": "blue", "opacity": ".5"}
    assert sheet.of([big], {})["fill"] == "red"
    text, above = ("text", frozenset()), ("g", frozenset("a"))
    assert sheet.of([above, ("g", frozenset()), text], {}) == {"fill": "green"}
    assert sheet.of([("g", frozenset("b")), text], {"fill": "pink", "opacity": "1"}) == {
        "fill": "pink"
    }


def test_every_rule_of_ours_is_understood():
    css = style(paper="#ffffff")
    assert "var(" not in css
    assert not re.search(r"[>+~#]\s*[\w.]*\s*\{", re.sub(r"/\*.*?\*/", "", css))
