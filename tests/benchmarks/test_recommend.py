"""The table of `python -m benchmarks recommend` grows over several runs."""

import pytest

from benchmarks import recommend

LESS = ["+0.5 [-1.0, 2.0] (PLDA)"] * 2
FOUR = ["70.0 / 22.0", "70 / 20", "72 / 28", "68 / 23"]
OLD = ["cars", "960, 40", "2m*", *FOUR, "10", "**72.5 / 27.0**", "0", "68 s", "x", *LESS]
FOUR = ["90.0 / 60.0", "91 / 56", "94 / 70", "90 / 65"]
NEW = ["pets", "300, 12", "6m*", *FOUR, "20", "**91.5 / 64.0**", "9", "350 s", "y", *LESS]


@pytest.fixture
def page(tmp_path, monkeypatch):
    path = tmp_path / "benchmarks.md"
    monkeypatch.setattr(recommend, "PAGE", path)
    monkeypatch.setattr(recommend, "_try", lambda *_: None)
    return path


def written(rows):
    table = recommend.Table(title="t", note="n", header=recommend.HEADER, rows=rows)
    other = "<!-- begin other -->\n| cars | 1 |\n<!-- end other -->\n"
    return f"{other}<!-- begin recommend -->\n{table.markdown()}<!-- end recommend -->\n{other}"


def test_rows_on_the_page_stay_and_a_row_tried_again_is_replaced_as_a_whole(page, monkeypatch):
    page.write_text(written([OLD]), encoding="utf-8")
    again = [*OLD[:3], *["75.0 / 30.0"] * 4, "20", "**80.0 / 40.0**", "5", "90 s", "z", *OLD[-2:]]
    tries = iter([NEW, again])
    monkeypatch.setattr(recommend, "DATA", ["pets=p:6m", "cars=c:2m"])
    monkeypatch.setattr(recommend, "_row", lambda _: next(tries))
    table, _ = recommend.tables()
    assert table.rows == [again, NEW]
    page.write_text(written(table.rows), encoding="utf-8")
    monkeypatch.setattr(recommend, "DATA", [])
    assert next(recommend.tables()).rows == [again, NEW]


def test_means_by_hand(page, monkeypatch):
    other = [*NEW[:2], "2m*", *NEW[3:]]
    page.write_text(written([OLD, other]), encoding="utf-8")
    monkeypatch.setattr(recommend, "DATA", [])
    _, means = recommend.tables()
    # gains over frozen: 2.5 and 1.5, 5 and 4; their standard errors are half of the differences
    assert means.rows[0][:3] == ["2m*", "2", "+2.0 ± 0.5 / +4.5 ± 0.5"]


def test_a_difference_by_hand():
    best = {"recall@1": 0.5, "map@r": 0.4, "by_class": {"0": [1, 0.0, 0.0], "1": [3, 2.0, 1.6]}}
    theirs = {name: {"recall@1": 0.1, "map@r": 0.1} for name in recommend.OPPONENTS} | {"PLDA": best}
    ours = {"by_class": {"0": [1, 1.0, 1.0], "1": [3, 2.0, 1.6]}}
    # one query of class 0 is won; a table may hold class 0 alone, class 1 alone, or both
    assert recommend._difference(ours, theirs, "recall@1") == "+25.0 [0.0, 100.0] (PLDA)"
