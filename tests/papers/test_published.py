import math
from collections import Counter
from typing import get_args

import pytest

from fairground.errors import InputError
from fairground.papers.published import (
    SPREADS,
    PublishedRow,
    SelectedOn,
    published_errata,
    published_papers,
    published_rows,
    published_tables,
    published_years,
    read_csv,
)
from fairground.spec.catalogue import list_room
from fairground.spec.load import presets

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
SECOND_READING = """
roth2020/table1 | IBN | cars196 | untrained | recall@1 | 43.36
roth2020/table1 | GN | sop | untrained | recall@1 | 44.28
roth2020/table2 | Imagenet | cub200 | untrained | nmi | 57.56
roth2020/table2 | Angular | cars196 | | recall@1 | 78.00 ± 0.32
roth2020/table2 | ArcFace | cars196 | | nmi | 66.99 ± 1.08
roth2020/table2 | GenLifted | cub200 | | recall@1 | 59.59 ± 0.60
roth2020/table2 | Hist. | sop | | nmi | 88.93 ± 0.02
roth2020/table2 | Margin (D, β = 1.2) | sop | | recall@1 | 78.43 ± 0.07
roth2020/table2 | Multisimilarity | cars196 | | nmi | 69.43 ± 0.38
roth2020/table2 | Pnca | cub200 | | recall@1 | 62.80 ± 0.48
roth2020/table2 | SNR (D) | sop | | recall@1 | 77.61 ± 0.34
roth2020/table2 | Softmax | sop | | recall@1 | 76.92 ± 0.64
roth2020/table2 | Triplet (R) | cars196 | | recall@1 | 70.63 ± 0.43
roth2020/table2 | R-Margin (D, β = 0.6) | cub200 | | recall@1 | 64.93 ± 0.42
roth2020/table2 | R-Triplet (D) | sop | | nmi | 89.98 ± 0.04
roth2020/table3 | Rank | sop | | recall@100 | 96.3
roth2020/table3 | Margin (ours) | sop | | recall@1 | 78.4
roth2020/table4 | Imagenet | cub200 | untrained | nmi | 52.91
roth2020/table4 | Histogram | cub200 | | best_epoch | 98.80 ± 36.00
roth2020/table4 | Margin (D, β = 0.6) | cub200 | | map@c | 23.83 ± 0.20
roth2020/table4 | Quadruplet (D) | cub200 | | f1 | 35.74 ± 0.62
roth2020/table4 | Triplet (S) | cub200 | | recall@2 | 71.75 ± 0.27
roth2020/table4 | R-SNR (D, p = 0.3) | cub200 | | recall@2 | 74.66 ± 0.06
roth2020/table5 | Imagenet | cars196 | untrained | map@c | 4.03
roth2020/table5 | Npair | cars196 | | best_epoch | 134.80 ± 10.93
roth2020/table5 | SoftTriple | cars196 | | f1 | 31.07 ± 0.56
roth2020/table5 | R-Contrastive (D, p = 0.35) | cars196 | | recall@2 | 88.06 ± 0.21
roth2020/table6 | Imagenet | sop | untrained | f1 | 0.49
roth2020/table6 | Multisimilarity | sop | | map@c | 41.52 ± 0.07
roth2020/table6 | R-Margin (D, β = 1.2, p = 0.15) | sop | | nmi | 90.33 ± 0.02
roth2020/table7 | Histogram, DDM | cub200 | sampler=distance_distribution | recall@1 | 58.22 ± 0.33
roth2020/table7 | Margin (D), GC | cub200 | sampler=greedy_coreset | f1 | 37.84 ± 0.83
roth2020/table7 | ProxyNCA, DDM | cub200 | sampler=distance_distribution | map@c | 24.50 ± 0.00
roth2020/table7 | Triplet (R), SPC-8 | cub200 | sampler=per_class sampler.per_class=8 | nmi | 63.74 ± 0.09
roth2020/table8 | MultiSimilarity, FRD | cars196 | sampler=frechet | f1 | 41.74 ± 0.39
roth2020/table8 | NPair, SPC-4 | cars196 | sampler=per_class sampler.per_class=4 | recall@1 | 73.57 ± 0.15
roth2020/table8 | Softmax, SPC-R | cars196 | sampler=per_class_random | nmi | 67.79 ± 0.39
roth2020/table9 | Histogram, SPC-R | sop | sampler=per_class_random | nmi | 86.90 ± 0.03
roth2020/table9 | Margin (D), SPC-2 | sop | sampler=per_class sampler.per_class=2 | map@c | 42.36 ± 0.11
roth2020/table9 | Triplet (R), FRD | sop | sampler=frechet | recall@2 | 72.04 ± 0.15
mlrc2020/table1 | ResNet50 | cars196 | untrained | recall@1 | 43.5
mlrc2020/table2 | BN-Inception | sop | untrained | nmi | 73.1
mlrc2020/table4 | Triplet | cub200 | concatenated | r_precision | 34.55 ± 0.24
mlrc2020/table4 | Contrastive | cub200 | concatenated | precision@1 | 68.13 ± 0.31
mlrc2020/table4 | Margin/class | cub200 | separated | map@r | 18.51 ± 0.13
mlrc2020/table4 | CosFace | cub200 | concatenated | map@r | 26.70 ± 0.23
mlrc2020/table4 | ArcFace | cub200 | separated | precision@1 | 60.17 ± 0.32
mlrc2020/table4 | SNR | cub200 | concatenated | precision@1 | 66.44 ± 0.56
mlrc2020/table5 | Triplet | cars196 | separated | precision@1 | 65.68 ± 0.58
mlrc2020/table5 | Margin / class | cars196 | concatenated | map@r | 23.11 ± 0.55
mlrc2020/table5 | MS | cars196 | concatenated | r_precision | 38.09 ± 0.19
mlrc2020/table5 | FastAP | cars196 | separated | map@r | 15.94 ± 0.34
mlrc2020/table6 | NT-Xent | sop | concatenated | map@r | 45.31 ± 0.25
mlrc2020/table6 | ArcFace | sop | separated | precision@1 | 70.88 ± 1.51
mlrc2020/table6 | SoftTriple | sop | separated | r_precision | 43.83 ± 0.20
mlrc2020/table6 | MS+Miner | sop | concatenated | precision@1 | 75.09 ± 0.17
mlrc2020/hyperparameters | Contrastive | cub200 | training.batch_size=32 | loss.positive_margin | -0.2000
mlrc2020/hyperparameters | Margin / class | cub200 | training.batch_size=256 | loss.margin | -0.0204
mlrc2020/hyperparameters | CosFace | cars196 | training.batch_size=32 | loss.scale | 161.5
mlrc2020/hyperparameters | FastAP | cub200 | training.batch_size=256 | loss.bins | 86
mlrc2020/hyperparameters | SoftTriple | sop | training.batch_size=32 | loss.margin | 0.3145
mlrc2020/hyperparameters | ArcFace | cars196 | training.batch_size=32 | optimiser.loss_lr | 7.39e-06
mlrc2020/reported-contrastive | Sampling Matters in Deep Embedding Learning (ICCV 2017) | sop | | precision@1 | 30.1
mlrc2020/reported-triplet | Deep Metric Learning with Angular Loss (ICCV 2017) | cars196 | | precision@1 | 45.5
"""


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


def test_no_cell_is_there_twice() -> None:
    cells = Counter(
        (r.table_name, r.row, r.dataset, r.network, r.setting, r.metric, r.embedding_dim) for r in published_rows()
    )
    assert cells.most_common(1)[0][1] == 1


def test_the_two_places_where_roth_prints_a_number_agree_save_where_the_erratum_says_so() -> None:
    detailed = {"cub200": "roth2020/table4", "cars196": "roth2020/table5", "sop": "roth2020/table6"}
    others = {(r.method, r.dataset, r.metric): r.printed for table in detailed.values() for r in published_rows(table)}
    apart = [
        row for row in published_rows("roth2020/table2") if others[row.method, row.dataset, row.metric] != row.printed
    ]
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
    assert SPREADS[row.spread_meaning].n == 5
    for word in ("recall@1", "precision@1", "P@1", "recall_at_1"):
        assert len(published_rows("mlrc2020/table4", metric=word)) == 30
    assert len(published_rows("mlrc2020/table4", metric="MAP@R", method="ArcFace")) == 2
    assert {row.paper for row in published_rows("mlrc2020")} == {"mlrc2020"}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"name": "roth2020/tabel2"}, "no published table 'roth2020/tabel2'. Did you mean 'roth2020/table2'?"),
        ({"method": "margn"}, "no method 'margn' here. Did you mean 'margin'?"),
    ],
)
def test_a_wrong_word_is_refused_with_the_nearest(asked: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        published_rows(**asked)
    assert str(refusal.value).startswith(sentence)


def test_every_line_is_complete() -> None:
    tables = {table.name for table in published_tables()}
    for row in published_rows():
        assert row.paper in published_papers(), row
        assert row.table_name in tables, row
        assert row.row, row
        assert row.metric, row
        assert math.isfinite(row.value), row
        assert (row.spread is None) == (row.spread_meaning == ""), row
        assert row.spread is None or (row.spread >= 0 and row.spread_meaning in SPREADS), row
        assert set(row.errata) <= set(published_errata()), row
    assert {table.selected_on for table in published_tables()} <= set(get_args(SelectedOn))
    assert {line["paper"] for line in [*read_csv("years"), *read_csv("claims")]} <= set(published_papers())


def test_years_are_mlrcs_and_of_losses_we_have():
    years = published_years()
    assert len(years) == 12
    assert set(years) <= set(list_room("losses"))
    assert (years["contrastive"], years["triplet"], years["nt_xent"]) == (2006, 2006, 2016)
    assert (years["normalised_softmax"], years["cos_face"], years["soft_triple"]) == (2017, 2018, 2019)
    assert {row.loss for row in published_rows("mlrc2020/table4") if row.loss} == set(years)
