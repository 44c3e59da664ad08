import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from fairground.reporting import DARK, LIGHT, STAND_IN, ResultTable, duration, panels, size, svg_for_page, write_figure
from fairground.reporting.figures.scores_and_ranks import MOST_BARS, cost, curve_panel, curves_of, score_panel
from tests.records.factory import make_record
from tests.reporting.figure_runs import inputs
from tests.reporting.fixtures import HOSTILE, make_study
from tests.reporting.test_result_table import runs


def test_bars_hold_means_intervals_and_single_runs_in_per_cent():
    table = ResultTable.from_records([*runs("a", 0.50, 0.51, 0.52), *runs("b", 0.30, 0.31, 0.32)])
    panel = score_panel(table)
    assert (panel.rows, panel.x) == (["a", "b"], "MAP@R % on test classes")
    bar, line, _, dots, mean = panel.items[:5]
    assert (bar.value, *mean.x, mean.text) == (pytest.approx(51), pytest.approx(51), "51.00 ± 2.51")
    assert dots.x == pytest.approx([50, 51, 52])
    method = table.comparisons["map@r"].estimates["a"]
    assert line.x == pytest.approx((100 * method.low, 100 * method.high))
    assert line.x == pytest.approx((51 - 2.506, 51 + 2.506), abs=0.0005)
    assert panel.x_range[0] == 0
    close = score_panel(ResultTable.from_records([*runs("a", 0.50, 0.51), *runs("b", 0.49, 0.5)]))
    assert close.x_range is None


def test_of_very_many_methods_the_first_are_drawn_and_the_axis_says_so():
    records = [record for number in range(MOST_BARS + 2) for record in runs(f"m{number:02}", 0.9 - number / 100)]
    panel = score_panel(ResultTable.from_records(records))
    assert panel.rows == [f"m{number:02}" for number in range(MOST_BARS)]
    assert panel.x == f"MAP@R % on test classes; the first {MOST_BARS} of {MOST_BARS + 2} methods drawn"


def figure(panel, prefix: str = "p", **look) -> str:
    return svg_for_page(panels([panel], **look), (6, 3), prefix=prefix, description='a <"description"> & more')


def test_a_drawing_for_the_page_follows_its_colours_and_shares_no_id():
    table = ResultTable.from_records(make_study())
    one, two = figure(score_panel(table), "one"), figure(curve_panel(table, curves_of(table)), "two")
    assert one == figure(score_panel(table), "one")
    for svg in (one, two):
        root = ElementTree.fromstring(svg)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == 'a <"description"> & more'
        assert "var(--series-0)" in svg
        assert "var(--soft)" in svg
        left_over = [colour for colour in STAND_IN.values() if colour in svg]
        assert left_over == []
        assert not re.search(r"https?://(?!www\.w3\.org)", svg)
    ids = [re.findall(r'\bid="([^"]*)"', svg) for svg in (one, two)]
    assert not set(ids[0]) & set(ids[1])
    assert len(ids[0]) == len(set(ids[0]))
    used = re.findall(r'(?:url\(#|href="#)([^")]*)', one + two)
    assert set(used) <= set(ids[0] + ids[1])


def test_hostile_names_are_drawn_as_text():
    records = [make_record(loss=f"loss{i}") for i in range(len(HOSTILE))]
    names = {record.method: name for record, name in zip(records, HOSTILE, strict=True)}
    table = ResultTable.from_records(records, names=names)
    keys = [(label, line.series) for label, line in curves_of(table).items()]
    drawn = [figure(score_panel(table)), figure(curve_panel(table, curves_of(table)), keys=keys, kind="line")]
    assert "&lt;script&gt;" in drawn[0]
    for svg in drawn:
        assert len(svg) < 60_000
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
        assert tags <= {"svg", "defs", "style", "g", "path", "use", "clipPath", "rect", "text", "tspan"}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("palette", "background"), [(LIGHT, "#ffffff"), (DARK, "#181c20")])
def test_colours_can_be_seen(palette, background):
    def contrast(colour: str) -> float:
        high, low = sorted([luminance(colour), luminance(background)], reverse=True)
        return (high + 0.05) / (low + 0.05)

    assert min(contrast(colour) for name, colour in palette.items() if name.startswith("series")) >= 3
    assert min(contrast(palette["ink"]), contrast(palette["soft"])) >= 4.5


def test_durations_and_sizes_as_readers_know_them():
    assert [duration(s) for s in (0.34, 31.4, 600, 7500)] == ["0.3 s", "31 s", "10 min", "2 h 5 min"]
    assert [size(n) for n in (4.2e4, 4e8, 2.5e9)] == ["42 kB", "400 MB", "2.5 GB"]


def test_curves_hold_the_mean_and_range_over_seeds():
    records = [make_record(seed=seed) for seed in range(3)]
    (curve,) = curves_of(ResultTable.from_records(records)).values()
    at_two = [100 * record.epochs[2].validation["map@r"] for record in records]
    assert curve.x == tuple(range(9))
    assert curve.y[2] == pytest.approx(sum(at_two) / 3)
    assert (curve.low[2], curve.high[2]) == (min(at_two), max(at_two))
    # A run that stopped early counts as far as it came; one measured before training alone has no curve.
    early = replace(records[2], epochs=records[2].epochs[:5])
    (curve,) = curves_of(ResultTable.from_records([*records[:2], early])).values()
    assert curve.y[8] == pytest.approx(50 * sum(record.epochs[8].validation["map@r"] for record in records[:2]))
    assert curves_of(ResultTable.from_records([make_record(epochs=0)])) == {}
    # Methods beyond the palette share the secondary colour.
    many = ResultTable.from_records([make_record(loss=f"loss{i}", level=0.5 - i / 100) for i in range(9)])
    assert [curve.series for curve in curves_of(many).values()] == [*range(7), None, None]


def test_figures_for_files_by_their_ending(tmp_path):
    draw = panels([score_panel(ResultTable.from_records(make_study()))])
    for ending, begins in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        path = write_figure(draw, (6, 3), tmp_path / f"figure.{ending}")
        assert path.read_bytes().startswith(begins)


def test_cost_is_the_mean_over_runs():
    figure = cost(inputs(make_study()))
    assert {row[2] for row in figure.numbers} == {"32 s"}
    assert "4 methods, 12 runs" in figure.sentence
