"""The run report: a page that is whole, safe and truthful whatever the run folder holds."""

import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tagma.errors import TagmaError
from tagma.report import run_figures, write_run_report
from tagma.report.axes import LogAxis, value_axis
from tagma.report.line_chart import LABEL_GAP
from tagma.report.number_format import UNKNOWN, duration, number, percent
from tagma.report.picture_frame import choose_frame
from tagma.report.run_figures import draw_run_figures
from tagma.report.run_headline import verdict
from tagma.report.run_reading import read_run
from tagma.report.run_tables import SHOWN_REASONS, cluster_rows, reason_rows
from tagma.report.scatter import SHAPES, draw_picture, look
from tests.report.report_folders import CLIENTS, HOSTILE, Page, folder


def page(run: Path) -> Page:
    return Page(write_run_report(run))


def test_the_page_is_well_formed_and_complete(tmp_path: Path) -> None:
    run = page(folder(tmp_path / "run"))
    assert write_run_report(tmp_path / "run") == tmp_path / "run" / "report.html"
    assert run.text("h1").startswith("All honest clients found their cluster")
    assert len(run.having("svg", role="img")) == 4


def test_every_figure_has_a_title_and_a_description(tmp_path: Path) -> None:
    run = page(folder(tmp_path / "run"))
    ids = {str(attrs.get("id")) for tag, attrs in run.elements if tag in ("title", "desc")}
    for svg in run.having("svg"):
        if svg.get("aria-hidden") != "true":
            assert svg["role"] == "img"
            assert set(str(svg["aria-labelledby"]).split()) <= ids
    assert run.text("desc").count(".") >= 4


def test_the_page_refers_to_nothing_outside_itself(tmp_path: Path) -> None:
    run = page(folder(tmp_path / "run"))
    links = [v for _, attrs in run.elements for k, v in attrs.items() if k in ("href", "src")]
    assert links
    assert all(str(link).startswith("#") for link in links)
    assert not re.search(r"https?:|url\(|@import|<link|fetch\(", run.source)


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    replies = {"used": 1, "rejected": {HOSTILE: 2}, "rejected_clients": {"4": {HOSTILE: 2}}}
    run = page(
        folder(
            tmp_path / "run",
            clients=[*CLIENTS[:4], [4, "", "", 1, 0, "", ""], ['5"><b>', 0, 0, 0, 0, 0, 0]],
            overrides=[f"note={HOSTILE[:-1]}"],
            work=HOSTILE[:-1],
            config=f"note: {HOSTILE[:-1]}\n",
            replies=replies,
            warnings=[HOSTILE],
            clustering={"name": HOSTILE, "iterations": 1, "stopped": HOSTILE},
            engine=HOSTILE,
        )
    )
    assert len(run.having("script")) == 1
    assert len(run.having("style")) == 1
    assert not run.having("img")
    assert "\\ud800" in run.text("li")
    assert len(run.having("b")) == 3, "the bold names of the three figures, and nothing else"
    assert "<script>alert(1)</script>" in run.text("bdi")
    assert "<script>alert(1)</script>" in run.text("li")
    assert run.having("use", **{"data-client": '5"><b>'})


def test_the_head_names_task_attack_and_defence(tmp_path: Path) -> None:
    head = page(folder(tmp_path / "run")).source.partition("</header>")[0]
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", head.partition("</h1>")[2])).strip()
    assert words == (
        "task mixture_regression attack sign_flip defence trimmed_kmeans, nnm + trimmed_mean, "
        "quarantine rounds 2 seed 0 engine inprocess"
    )


def test_roles_in_a_table_are_not_believed_where_metrics_know_none(tmp_path: Path) -> None:
    clusters = [{"size": 3, "honest": None, "byzantine": None}, {"size": 2, "honest": None}]
    scores = ("misclustering", "estimation_error", "oracle_error")
    unknown = dict.fromkeys([*scores, *(f"{name}_per_round" for name in scores)])
    curve = {"misclustering_per_iteration": None}
    run = page(folder(tmp_path / "run", clusters=clusters, **unknown, **curve))
    assert run.text("h1") == "5 clients in 2 clusters; nobody in quarantine."
    assert "yzantine" not in "".join(text for tag, text in run.texts if tag != "style")


def test_clients_that_are_kept_out_are_named_in_the_list_of_clients(tmp_path: Path) -> None:
    clients = [[*row, int(row[0] == 4), int(row[0] in (2, 3))] for row in CLIENTS]
    run = read_run(folder(tmp_path / "run", clients=clients))
    assert [one.name for one in run.clients if one.quarantined] == ["4"]
    assert [one.name for one in run.clients if one.excluded] == ["2", "3"]


def test_round_by_round_says_who_was_left_out_where_that_is_known(tmp_path: Path) -> None:
    run = folder(tmp_path / "run")
    assert "left out" not in page(run).text("th")
    rows = ["round,work,true_positive,false_positive", "1,local_model,0.5,"]
    (run / "history.csv").write_text("\n".join(rows))
    assert "Byzantine left outHonest left out" in page(run).text("th")
    assert "50%" in page(run).text("td")


def test_a_folder_with_bare_metrics_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text("{}")
    assert "No clusters are on record" in page(tmp_path).text("p")


def test_a_folder_without_metrics_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TagmaError, match=r"metrics\.json is missing"):
        write_run_report(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("metrics.json", "[]", "damaged"),
        ("metrics.json", '{"clusters": [{"size": 1e999}]}', "damaged"),
        ("metrics.json", '{"clusters": [{"size": 1, "honest": 1e308}]}', "damaged"),
        ("metrics.json", '{"misclustering": 1e308}', "damaged"),
        ("metrics.json", '{"settings": {"pre": 1, "aggregation": "mean"}}', "damaged"),
        ("clusters.csv", "machine,assigned\n0,0\n", "is called `client` now: run it again"),
        ("clusters.csv", "assigned\n0\n", "no column `client`"),
        ("clusters.csv", "client,x\n0,left\n", "damaged"),
        ("models.safetensors", "no tensors", "damaged"),
        (".hydra/overrides.yaml", "{", "damaged"),
    ],
)
def test_a_folder_of_another_version_or_damaged_is_one_clear_line(
    tmp_path: Path, file: str, content: str, words: str
) -> None:
    run = folder(tmp_path / "run")
    (run / file).write_text(content)
    with pytest.raises(TagmaError, match=words) as error:
        write_run_report(run)
    assert "\n" not in str(error.value)


def test_each_figure_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def counted(name: str) -> None:
        draw = getattr(run_figures, name)
        monkeypatch.setattr(run_figures, name, lambda *a, **k: drawn.append(name) or draw(*a, **k))

    counted("draw_lines")
    counted("draw_picture")
    write_run_report(folder(tmp_path / "run"))
    assert sorted(drawn) == ["draw_lines", "draw_lines", "draw_picture"]


def test_figures_that_are_no_longer_made_are_removed_and_those_of_others_stay(
    tmp_path: Path,
) -> None:
    run = folder(tmp_path / "run", misclustering_per_iteration=None)
    (run / "figures").mkdir()
    for name in ("misclustering.svg", "losses.csv", "mine.svg"):
        (run / "figures" / name).touch()
    write_run_report(run)
    names = {file.stem for file in (run / "figures").iterdir()}
    assert names == {"error", "clients", "mine"}


def test_a_diverged_run_is_marked_where_it_left_the_numbers(tmp_path: Path) -> None:
    curve = [0.5, 1e3, 1e300, math.inf, math.nan]
    run = page(
        folder(tmp_path / "run", estimation_error=math.nan, estimation_error_per_round=curve)
    )
    assert "the optimisation diverged" in run.text("h1")
    assert len(run.having("path", **{"class": "off"})) == 2
    spots = run.having("circle", **{"class": "spot"})
    assert len(spots) == 3 + 3 + 3, "of the misclustering, the oracle and the finite errors"
    assert "estimation error, log scale" in run.text("text")
    assert not re.search(r'\b(d|x|y|cx|cy|transform)="[^"]*(nan|inf)', run.source)


def test_a_run_that_was_never_finite_says_so(tmp_path: Path) -> None:
    never: dict[str, Any] = {
        "estimation_error": math.inf,
        "estimation_error_per_round": [math.inf, None],
        "oracle_error_per_round": None,
    }
    assert "no round has a finite error" in page(folder(tmp_path / "run", **never)).text("p")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "All honest clients found their cluster; the error is 0.130, the oracle’s 0.125."),
        ({"misclustering": 0.25}, "1 of 4 honest clients is in the wrong cluster; the error"),
        ({"misclustering": 0.5}, "2 of 4 honest clients are in the wrong cluster; the error"),
        ({"oracle_error": 0.05}, "the error is 0.130, 2.6 times the oracle’s 0.0500."),
        ({"oracle_error": None, "oracle_error_per_round": None}, "the error is 0.130."),
        ({"oracle_error": None}, "the error is 0.130; the oracle is no yardstick: it diverged."),
        ({"oracle_error": 1.7}, "the oracle is no yardstick: its error grew from 0.160 to 1.70."),
        (
            {"oracle_error": 1.7, "oracle_error_per_round": [1.6, 1.7]},
            "the error is 0.130; the oracle is no yardstick: its error is 1.70.",
        ),
        ({"oracle_suspect": True}, "the oracle is no yardstick: it has a suspect cluster."),
        ({"estimation_error": 3e7}, "the error grew from 0.200 to 3.00 × 10⁷."),
        ({"estimation_error": None}, "the optimisation diverged"),
    ],
)
def test_the_verdict_says_what_came_out(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    assert sentence in verdict(read_run(folder(tmp_path / "run", **changes)))


@pytest.mark.parametrize("without", [False, True])
def test_the_page_says_what_the_oracle_is_given(tmp_path: Path, without: bool) -> None:
    run = page(folder(tmp_path / "run", oracle_without_byzantine=without))
    for tag in ("span", "p"):
        assert "given the true clusters" in run.text(tag)
        assert ("the true clusters, without Byzantine clients" in run.text(tag)) == without


def test_an_oracle_that_is_no_yardstick_is_not_drawn(tmp_path: Path) -> None:
    lost: dict[str, Any] = {"oracle_error": 1e5, "oracle_error_per_round": [0.5, 1e2, 1e5]}
    sheet = draw_run_figures(read_run(folder(tmp_path / "run", **lost))).sheets["error"]
    assert [series.name for series in sheet.panels[0].series] == ["this run"]
    assert [row[2] for row in sheet.rows] == [0.5, 1e2, 1e5], "but it is in the table"


def test_an_honest_client_in_no_cluster_is_not_passed_over(tmp_path: Path) -> None:
    clients = [*CLIENTS[:3], [3, "", 0, 0, 0, "", ""], CLIENTS[4]]
    run = read_run(folder(tmp_path / "run", clients=clients))
    assert verdict(run).startswith("All honest clients found their cluster, but for 1 in none;")


def test_the_command_gives_the_overrides_back_through_a_shell(tmp_path: Path) -> None:
    overrides = ["task.clients=5", "note='two words; $HOME'", "attack=none"]
    run = page(folder(tmp_path / "run", overrides=overrides))
    command = next(
        text for tag, text in run.texts if tag == "code" and text.startswith("tagma run")
    )
    assert shlex.split(command) == ["tagma", "run", *overrides]


@pytest.mark.parametrize("far", [30.0, 1e9, 1e308])
def test_far_byzantine_clients_do_not_move_the_frame_though_they_outnumber_a_cluster(
    tmp_path: Path, far: float
) -> None:
    clients = [*CLIENTS[:4], *([name, 0, 1, 1, 1, far, -far] for name in (4, 5, 6))]
    run = read_run(folder(tmp_path / "run", clients=clients))
    frame = choose_frame(run.clients)
    assert frame == choose_frame(run.clients[:4])
    picture = draw_picture(run)
    assert picture is not None
    assert picture.truth is not None
    arrows = [mark for mark in picture.truth.marks if mark.shape == "arrow"]
    assert [(arrow.client, round(arrow.turn)) for arrow in arrows] == [(name, 45) for name in "456"]
    assert "3 clients (3 Byzantine) lie outside the frame" in picture.outside


def test_without_truth_a_far_found_cluster_is_left_outside_the_frame(tmp_path: Path) -> None:
    places = [(k % 3, k // 3) for k in range(9)]
    near = [
        [i, k, "", "", 0, x + e, y]
        for i, (k, (x, y), e) in enumerate(
            (k, place, e) for k, place in enumerate(places) for e in (0.0, 0.1)
        )
    ]
    clients = [*near, *([100 + i, 9, "", "", 0, 1e6 + i, 0.0] for i in range(3))]
    run = read_run(folder(tmp_path / "run", clients=clients))
    frame = choose_frame(run.clients)
    assert frame is not None
    assert all(m.place is not None and frame.contains(m.place) for m in run.clients[:-3])
    assert frame.half < 10


def test_true_clusters_take_the_look_of_the_found_ones_they_match(tmp_path: Path) -> None:
    picture = draw_picture(read_run(folder(tmp_path / "run")))
    assert picture is not None
    assert picture.truth is not None
    found = {mark.client: (mark.shape, mark.style) for mark in picture.found.marks}
    truth = {mark.client: (mark.shape, mark.style) for mark in picture.truth.marks}
    assert [truth[name] for name in "0123"] == [found[name] for name in "0123"]
    assert truth["4"][1].startswith("byzantine")


def test_an_honest_client_in_the_wrong_cluster_is_ringed(tmp_path: Path) -> None:
    more = [[5, 0, 1, 0, 0, -1.2, 0.0], [6, 1, 1, 0, 0, -1.0, 0.2]]
    picture = draw_picture(read_run(folder(tmp_path / "run", clients=[*CLIENTS, *more])))
    assert picture is not None
    assert picture.truth is not None
    rings = [mark.words for mark in picture.truth.marks if mark.shape == "ring"]
    assert rings == ["client 6: found in cluster 1, truly of cluster 1"]
    assert picture.misplaced == 1


def test_a_true_cluster_that_was_not_found_gets_a_look_of_its_own(tmp_path: Path) -> None:
    clients = [*CLIENTS, [5, 0, 2, 0, 0, -1.0, 0.3]]
    picture = draw_picture(read_run(folder(tmp_path / "run", clients=clients)))
    assert picture is not None
    assert picture.lost == {2: 2}


def test_49_clusters_differ_in_shape_or_colour_and_7_in_both() -> None:
    looks = [look(k) for k in range(49)]
    assert len({(shape, style.split()[0]) for shape, style in looks}) == 49
    assert {shape for shape, _ in looks[:7]} == set(SHAPES)
    assert len({style.split()[0] for _, style in looks[:7]}) == 7


def test_rejected_replies_are_counted_by_cluster(tmp_path: Path) -> None:
    clients = [*CLIENTS[:4], [4, "", "", 1, 0, "", ""]]
    by_client = {"0": {"late": 1}, "1": {"late": 2}, "4": {"not finite": 5}}
    replies = {"used": 9, "rejected": {"late": 3, "not finite": 5}, "rejected_clients": by_client}
    run = read_run(folder(tmp_path / "run", clients=clients, replies=replies))
    assert [(row.number, row.rejected) for row in cluster_rows(run)] == [(0, 3), (1, 0), (None, 5)]
    assert reason_rows(run) == [
        ("not finite", 5, "4"),
        ("late", 3, "0, 1"),
    ]


def test_a_flood_of_reasons_ends_in_one_row_for_the_rest(tmp_path: Path) -> None:
    replies = {"used": 0, "rejected": {f"reason {i}": 1 for i in range(SHOWN_REASONS + 8)}}
    rows = reason_rows(read_run(folder(tmp_path / "run", replies=replies)))
    assert len(rows) == SHOWN_REASONS + 1
    assert rows[-1] == ("8 other reasons", 8, "")


def test_the_end_labels_of_equal_curves_do_not_overlap(tmp_path: Path) -> None:
    curve = [0.5, 0.2, 0.2]
    same: dict[str, Any] = {"estimation_error_per_round": curve, "oracle_error_per_round": curve}
    sheet = draw_run_figures(read_run(folder(tmp_path / "run", **same))).sheets["error"]
    oracle, run = (series.label_y for series in sheet.panels[0].series)
    assert abs(oracle - run) == pytest.approx(LABEL_GAP)


@pytest.mark.parametrize(
    ("values", "log", "labels"),
    [
        ([0.2, 0.5], False, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ([2e6, 5e6], False, ["0", "1", "2", "3", "4", "5"]),
        ([0.01, 0.5], True, ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]),
        ([1e-299, 1e299], True, ["10⁻²⁰⁰", "10⁰", "10²⁰⁰"]),
        ([0.0, math.nan], False, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([-2.0, -1.0, 2.0], False, ["−2", "−1", "0", "1", "2"]),
        ([-1e308, 1e308], False, ["−1.0", "−0.5", "0", "0.5", "1.0"]),
    ],
)
def test_an_axis_is_logarithmic_beyond_a_decade_and_its_ticks_are_round(
    values: list[float], log: bool, labels: list[str]
) -> None:
    axis = value_axis(values, 0, 100)
    assert isinstance(axis, LogAxis) == log
    ticks = axis.ticks(6)
    assert [tick.label for tick in ticks] == labels
    assert all(0 <= tick.at <= 100 for tick in ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.13, "0.130"),
        (12.34, "12.3"),
        (1234.5, "1,234"),
        (-0.5, "−0.500"),
        (0.000123, "1.23 × 10⁻⁴"),
        (3.1e8, "3.10 × 10⁸"),
        (0.0, "0"),
        (None, "–"),
        (math.nan, "not a number"),
    ],
)
def test_numbers_have_three_significant_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_percentages_and_durations_read_naturally() -> None:
    assert [percent(x) for x in (0, 0.043, 0.271, 1)] == ["0%", "4.3%", "27%", "100%"]
    assert percent(1e308) == UNKNOWN
    assert [duration(x) for x in (0.93, 12.34, 200, 7300)] == [
        "0.93 s",
        "12.3 s",
        "3 min 20 s",
        "2 h 1 min",
    ]


def accuracy(**more: Any) -> dict[str, Any]:
    """The metrics of a neural task: no estimation error, an accuracy and a loss."""

    def score(title: str, better: str, curve: list[float | None]) -> dict[str, Any]:
        return {"title": title, "better": better, "value": curve[-1], "per_round": curve}

    return {
        "misclustering_per_iteration": None,
        "scores": {
            "accuracy": score("accuracy", "high", [0.05, None, 0.921]),
            **{
                f"accuracy_{part}": score(part, "high", curve) | {"of": "accuracy"}
                for part, curve in {
                    "worst_decile": [0.0, None, 0.85],
                    "best_decile": [0.1, None, 0.95],
                }.items()
            },
            "loss": score("loss", "low", [2.0, None, 0.3]),
        },
        "oracle_scores": {"accuracy": {"value": 0.93, "per_round": [0.07, None, 0.93]}},
        "accuracy": {"mean": 0.921, "worst_decile": 0.85, "worst_cluster": 0.9},
        "bytes": {"down": 2_400_000, "up": 1200},
    } | more


def test_an_accuracy_is_named_by_its_name_with_the_oracles_beside_it(tmp_path: Path) -> None:
    run = page(folder(tmp_path / "run", **accuracy()))
    assert run.text("h1") == (
        "All honest clients found their cluster; the accuracy is 0.921 (0.850 in the worst tenth "
        "of clients), the oracle’s 0.930."
    )
    words = "".join(text for tag, text in run.texts if tag not in ("style", "script"))
    assert "error" not in words.lower().replace("error below", "")
    assert "0.850 in the worst tenth of clients" in words
    assert "15 messages, 2.40 MB down, 1.20 kB up" in words


def test_every_score_with_a_curve_has_a_figure_on_an_axis_that_suits_it(tmp_path: Path) -> None:
    sheets = draw_run_figures(read_run(folder(tmp_path / "run", **accuracy()))).sheets
    assert set(sheets) == {"score-accuracy", "score-loss", "clients"}
    chart = sheets["score-accuracy"].panels[0]
    assert [(one.name, one.last) for one in chart.series] == [
        ("oracle", "0.930"),
        ("this run", "0.921"),
    ]
    assert [len(one.spots) for one in chart.series] == [2, 2], "the round nobody measured is left"
    assert chart.y_label == "accuracy", "an accuracy has no log scale"
    oracle, ours = chart.series
    assert (bool(oracle.band), bool(ours.band)) == (False, True), "from the worst to the best tenth"
    assert ours.spots[-1].words.endswith("0.921 (0.850 to 0.950)")
    sheet = sheets["score-accuracy"]
    columns = ("round", "accuracy", "oracle_accuracy", "worst_decile", "best_decile")
    assert sheet.columns == columns
    assert sheet.rows == (
        (0, 0.05, 0.07, 0.0, 0.1), (1, None, None, None, None), (2, 0.921, 0.93, 0.85, 0.95),
    )  # fmt: skip
    assert sheets["score-loss"].columns == ("round", "loss", "oracle_loss")


def test_a_score_of_the_last_round_alone_is_in_the_headline_and_has_no_figure(
    tmp_path: Path,
) -> None:
    one = {"title": "accuracy", "better": "high", "value": 0.9, "per_round": [None, None, 0.9]}
    scores: dict[str, Any] = {"scores": {"accuracy": one}, "oracle_scores": None}
    run = read_run(folder(tmp_path / "run", **(accuracy() | scores)))
    assert set(draw_run_figures(run).sheets) == {"clients"}
    assert verdict(run).endswith("the accuracy is 0.900.")


@pytest.mark.parametrize(("name", "value"), [("served_error", math.inf), ("loss", None)])
def test_an_error_that_is_missing_has_diverged_and_another_score_was_not_measured(
    name: str, value: float | None, tmp_path: Path
) -> None:
    one = {"title": name, "better": "low", "value": None, "per_round": [2.0, None]}
    (score,) = read_run(folder(tmp_path / "run", **accuracy(scores={name: one}))).scores
    assert score.value == value
    assert score.points == (2 if value else 1)


def test_the_name_of_a_score_is_no_path(tmp_path: Path) -> None:
    one = {"title": "x", "better": "low", "value": 1.0, "per_round": [2.0, 1.0]}
    run = folder(tmp_path / "run", **accuracy(scores={"../../x/y": one}))
    write_run_report(run)
    assert (run / "figures/score--x-y.svg").exists()
    assert {file.name for file in tmp_path.iterdir()} == {"run"}


@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        (0.4, "of clients); the oracle is no yardstick: its accuracy is 0.400."),
        (0.99, "of clients), the oracle’s 0.990."),
    ],
)
def test_an_oracle_with_less_than_half_of_what_should_be_high_is_no_yardstick(
    tmp_path: Path, oracle: float, words: str
) -> None:
    scores = {"accuracy": {"value": oracle, "per_round": [0.3, None, oracle]}}
    run = read_run(folder(tmp_path / "run", **accuracy(oracle_scores=scores)))
    assert verdict(run).endswith(words)


def bare_cluster(size: int) -> dict[str, Any]:
    return {"size": size, "honest": size, "byzantine": 0, "trimmed": 0, "radius": None}


def without_stage_two(sizes: list[int], **settings: Any) -> dict[str, Any]:
    chosen = {"task": "t", "clustering": None, "optimiser": "gradient", "rounds": 2} | settings
    clusters = [bare_cluster(size) for size in sizes]
    return accuracy(clustering=None, clusters=clusters, settings=chosen)


def unplaced(which: list[int]) -> list[list[Any]]:
    return [[i, k, 0, 0, "", "", "", "", ""] for i, k in enumerate(which)]


def test_an_algorithm_without_clusters_has_neither_their_columns_nor_a_picture(
    tmp_path: Path,
) -> None:
    own = {"weights": "equal"}
    metrics = without_stage_two(
        [5], strategy="fedavg", strategy_settings=own, aggregation="median", pre=["nnm"]
    )
    run = page(folder(tmp_path / "run", clients=unplaced([0] * 5), **metrics, misclustering=0.5))
    assert run.text("h1").startswith("One model for 5 clients; the accuracy is 0.921")
    for word in ("Trimmed", "Radius", "In quarantine", "Excluded", "Misclustered"):
        assert word not in run.text("th") + run.text("dt")
    assert "Where the clients are" not in run.text("h2")
    head = run.source.partition("</header>")[0]
    facts = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", head.partition("</h1>")[2])).strip()
    assert facts == (
        "task t strategy fedavg, weights equal aggregation nnm + median optimiser gradient "
        "rounds 2 seed 0 engine inprocess"
    )
    rows = draw_run_figures(read_run(tmp_path / "run")).sheets["score-accuracy"].rows
    assert [row[0] for row in rows] == [1, 2, 3], "its first round is round 1, no warm start"


def test_of_many_models_the_largest_20_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    sizes = [1] * 24 + [2]
    metrics = without_stage_two(sizes, strategy="mine") | {"client_loss": [0.5] * 25}
    clients = unplaced([*range(25), 24])
    path = folder(tmp_path / "run", clients=clients, **metrics)
    rows = cluster_rows(read_run(path))
    assert [row.number for row in rows] == [*range(19), 24]
    assert "The largest 20; 5 clusters more are not shown." in page(path).text("p")
    drawn = draw_run_figures(read_run(path)).sheets["losses"]
    assert len(drawn.rows) == 20


def test_clients_with_models_of_their_own_are_in_no_wrong_cluster(tmp_path: Path) -> None:
    metrics = without_stage_two([1] * 5, strategy="local") | {"misclustering": 0.6}
    run = read_run(folder(tmp_path / "run", clients=unplaced([*range(5)]), **metrics))
    assert verdict(run).startswith("5 clients, each with a model of its own; the accuracy")


def test_losses_of_clusters_are_curves_where_two_rounds_have_them(tmp_path: Path) -> None:
    losses = [[2.0, 3.0], None, [1.0, None]]
    metrics = accuracy(client_loss_per_round=losses, client_loss=[1.0, None])
    sheets = draw_run_figures(read_run(folder(tmp_path / "run", **metrics))).sheets
    assert set(sheets) == {"score-accuracy", "losses", "clients"}, "and the loss of all has none"
    assert [series.name for series in sheets["losses"].panels[0].series] == [
        "cluster 0",
        "cluster 1",
    ]
    assert sheets["losses"].rows == (
        (0, 0, 2.0), (1, 0, None), (2, 0, 1.0), (0, 1, 3.0), (1, 1, None), (2, 1, None),
    )  # fmt: skip
    once = accuracy(client_loss_per_round=[None, None, [1.0, 2.0]], client_loss=[1.0, 2.0])
    sheets = draw_run_figures(read_run(folder(tmp_path / "once", **once))).sheets
    assert sheets["losses"].panels[0].kind == "dots"
