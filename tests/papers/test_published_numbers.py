import math
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from scipy import stats

from fairground.papers import published_numbers, published_rows, published_tables
from fairground.papers.published_numbers import PublishedRow, printed_elsewhere, published_errata, published_papers
from fairground.spec import list_room, presets

#: rows × columns of each table less its empty cells, counted on the page
COUNTS = {
    "roth2020/table1": 3 * 3,
    "roth2020/table2": 24 * 6 - 4,
    "roth2020/table3": 7 * 4 - 4,
    "roth2020/table4": 24 * 6 - 1,
    "roth2020/table5": 24 * 6 - 1,
    "roth2020/table6": 22 * 6 - 1,
    "roth2020/table7": 7 * 7 * 5,
    "roth2020/table8": 7 * 7 * 5,
    "roth2020/table9": 6 * 6 * 5,
    "mlrc2020/table1": 3 * 3,
    "mlrc2020/table2": 3 * 3,
    "mlrc2020/table3": 4 * 3,
    "mlrc2020/table4": 15 * 6,
    "mlrc2020/table5": 15 * 6,
    "mlrc2020/table6": 15 * 6,
    "mlrc2020/hyperparameters": 4 * 36 - 1,
    "mlrc2020/reported-contrastive": 11 * 3 - 4,
    "mlrc2020/reported-triplet": 11 * 3 - 2,
}

#: read a second time off the page, by eye: table, row, data set, setting, metric, what is printed
SECOND_READING = Path(__file__).with_name("second_reading.txt").read_text(encoding="utf-8")


def one(table: str, row: str, dataset: str, metric: str, setting: str | None = None) -> PublishedRow:
    found = [
        r
        for r in published_rows(table)
        if (r.row, r.dataset, r.metric) == (row, dataset, metric) and setting in (None, r.setting)
    ]
    assert len(found) == 1, (table, row, dataset, metric, found)
    return found[0]


def test_every_table_has_all_its_numbers() -> None:
    assert Counter(row.table_name for row in published_rows()) == COUNTS
    assert [table.name for table in published_tables()] == list(COUNTS)
    assert set(published_papers()) == {"roth2020", "mlrc2020"}


def test_a_second_reading_of_the_page_agrees() -> None:
    for line in SECOND_READING.strip().splitlines():
        table, row, dataset, setting, metric, printed = (word.strip() for word in line.split("|"))
        told = None if table.startswith("mlrc2020/reported") else setting
        assert one(table, row, dataset, metric, told).printed == printed


def test_the_two_places_where_roth_prints_a_number_agree_save_where_the_erratum_says_so() -> None:
    detailed = {"cub200": "roth2020/table4", "cars196": "roth2020/table5", "sop": "roth2020/table6"}
    others = {(r.method, r.dataset, r.metric): r.printed for table in detailed.values() for r in published_rows(table)}
    rows = published_rows("roth2020/table2")
    apart = [row for row in rows if others[row.method, row.dataset, row.metric] != row.printed]
    (wrong,) = apart
    assert (wrong.row, wrong.dataset, wrong.metric, wrong.errata) == ("Imagenet", "cub200", "nmi", ("E54",))
    assert wrong.value == 57.56
    assert wrong.corrected == wrong.right_value == 52.91
    assert others["", "cub200", "recall@2"] == "57.56"


def test_metrics_stand_in_the_order_arithmetic_puts_them() -> None:
    lines: dict[tuple[object, ...], dict[str, float]] = {}
    for r in published_rows():
        lines.setdefault((r.table_name, r.row, r.dataset, r.setting, r.embedding_dim), {})[r.metric] = r.value
    n_checked = 0
    for values in lines.values():
        for low, high in [
            ("map@r", "r_precision"),
            ("r_precision", "precision@1"),
            ("map@c", "recall@1"),
            ("recall@1", "recall@2"),
            ("recall@10", "recall@100"),
        ]:
            if low in values and high in values:
                n_checked += 1
                assert values[low] <= values[high], values
    # 90 lines of MLRC tables 4 to 6, twice; 204 lines of Roth tables 4 to 9, twice; table 3 of each.
    assert n_checked == 2 * 90 + 2 * (24 + 24 + 22 + 49 + 49 + 36) + 6 + 4


def test_errata_are_marked_where_they_bear() -> None:
    assert {erratum for row in published_rows() for erratum in row.errata} == set(published_errata())
    trained = [row for row in published_rows("roth2020") if row.method]
    assert all("E53" in row.errata for row in trained)
    assert all(row.errata == ("E54",) for row in published_rows("roth2020") if row.corrected is not None)
    assert all(("E59" in row.errata) for row in published_rows("mlrc2020/table6"))
    assert all("E62" in row.errata for row in published_rows() if "Student" in row.spread_meaning)


def test_methods_are_presets_and_settings_components_of_ours() -> None:
    samplers = list_room("samplers")
    for row in published_rows():
        if row.preset:
            assert row.preset in presets(row.loss), row.method
        for word in row.setting.split():
            if word.startswith("sampler="):
                assert word.removeprefix("sampler=") in samplers


def test_published_hyperparameters_are_those_of_our_presets() -> None:
    rows = published_rows("mlrc2020/hyperparameters")
    for row in rows:
        assert presets(row.loss)[row.preset][row.metric] == row.value, (row.method, row.metric)
        assert row.unit == "setting"


def test_table_3_of_mlrc_is_arithmetic() -> None:
    for row in published_rows("mlrc2020/table3", metric="map@r"):
        right = {"only the 1st": {1}, "1st and 10th": {1, 10}, "1st and 2nd": {1, 2}, "all 10": set(range(1, 11))}
        places = next(places for words, places in right.items() if words in row.row)
        found = sum(len([p for p in places if p <= place]) / place for place in places) / 10
        assert row.value == pytest.approx(100 * found)


def test_filters_know_the_names_people_use() -> None:
    (row,) = published_rows("Roth2020/Table2", dataset="CUB200", method="margin@roth-beta12-cub200", metric="R@1")
    assert (row.value, row.spread, row.embedding_dim) == (63.09, 0.46, 128)
    assert (row.loss, row.preset, row.protocol) == ("margin", "roth-beta12-cub200", "roth2020-cub200")
    assert published_numbers.SPREADS[row.spread_meaning].n == 5
    for word in ("recall@1", "precision@1", "P@1", "recall_at_1"):
        assert len(published_rows("mlrc2020/table4", metric=word)) == 30
    assert len(published_rows("mlrc2020/table4", metric="MAP@R", method="ArcFace")) == 2
    assert {row.paper for row in published_rows("mlrc2020")} == {"mlrc2020"}


def test_every_line_is_complete_and_there_once() -> None:
    tables = {table.name for table in published_tables()}
    rows = published_rows()
    assert len(
        {(r.table_name, r.row, r.dataset, r.network, r.setting, r.metric, r.embedding_dim) for r in rows}
    ) == len(rows)
    for row in rows:
        assert row.paper in published_papers(), row
        assert row.table_name in tables, row
        assert row.row, row
        assert row.metric, row
        assert math.isfinite(row.value), row
        assert (row.spread is None) == (row.spread_meaning == ""), row
        assert row.spread is None or (row.spread >= 0 and row.spread_meaning in published_numbers.SPREADS), row
        assert set(row.errata) <= set(published_errata()), row
    assert {table.selected_on for table in published_tables()} <= set(get_args(published_numbers.SelectedOn))
    assert {
        line["paper"] for line in [*published_numbers.read_csv("years"), *published_numbers.read_csv("claims")]
    } <= set(published_papers())


def test_years_are_mlrcs_and_of_losses_we_have():
    years = published_numbers.published_years()
    assert len(years) == 12
    assert set(years) <= set(list_room("losses"))
    assert (years["contrastive"], years["triplet"], years["nt_xent"]) == (2006, 2006, 2016)
    assert (years["normalised_softmax"], years["cos_face"], years["soft_triple"]) == (2017, 2018, 2019)
    assert {row.loss for row in published_rows("mlrc2020/table4") if row.loss} == set(years)


def test_tables_7_to_9_contradict_tables_4_to_6_for_the_same_setting() -> None:
    """All 100 numbers of SPC-2 are printed otherwise; 36 are farther apart than 95 % intervals of five runs each."""
    half = stats.t.ppf(0.975, 4) / math.sqrt(4)
    whole = {
        (row.method, row.dataset, row.metric): row
        for row in published_rows("roth2020")
        if row.table in ("table4", "table5", "table6") and not row.setting
    }
    twice = [row for row in published_rows("roth2020") if row.setting == "sampler=per_class sampler.per_class=2"]
    apart = 0
    for row in twice:
        other = whole[row.method, row.dataset, row.metric]
        assert {"E64"} <= set(row.errata) & set(other.errata)
        assert row.note.endswith(f"table {other.table[5:]} prints {other.printed} for this setting")
        assert row.printed != other.printed
        assert printed_elsewhere(row) == ([] if row.value == other.value else [other])
        apart += abs(row.value - other.value) > half * (row.spread + other.spread)
    assert (len(twice), apart) == (100, 36)
    assert max(whole[row.method, row.dataset, row.metric].value - row.value for row in twice) == pytest.approx(9.23)
