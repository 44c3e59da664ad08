"""`fairground runs import`: others' numbers in our tables, marked, and in no verdict."""

import json
import re
from pathlib import Path

import pytest

import fairground as fg
from fairground.records import Store
from tests.commands.test_commands import output_of
from tests.commands.test_compare import filled
from tests.comparison.methods import method

TABLE = """method,loss,data,seed,R@1,map@r,validation/map@r,gpu
By Foo,margin,icons,0,71.25,90.0,20,A100
By Foo,margin,icons,1,70.25,89.0,,A100
By Bar,,cub200,,69.7,,,A100
By Bar,,cub200,,68.7,,,
By Bar,,cub200,,,,,crashed
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return filled(tmp_path, method(loss="contrastive", level=0.2, seeds=3), method(loss="triplet", level=0.4, seeds=3))


def imported(capsys, home, text, *words, code=0):
    (home / "theirs.csv").write_text(text)
    return output_of(capsys, "runs", "import", str(home / "theirs.csv"), *words, "--home", str(home), code=code)


def test_rows_are_runs_with_scores_by_our_names(home, capsys):
    assert imported(capsys, home, TABLE, "--percent").startswith("4 runs imported, 0 were there already\ncolumns not")
    runs = [run for run in fg.runs(home=home) if run.record.is_imported]
    assert [run.scores for run in runs[:2]] == [{"recall@1": 0.7125, "map@r": 0.9}, {"recall@1": 0.7025, "map@r": 0.89}]
    assert runs[0].validation_scores == {"map@r": 0.2}
    assert [run.record.spec["seed"] for run in runs] == [0, 1, 0, 1]
    assert runs[0].name.startswith("imported-")
    assert "note: imported from theirs.csv, line 2" in output_of(capsys, "show", runs[0].name, "--home", str(home))
    assert imported(capsys, home, TABLE, "--percent").startswith("0 runs imported, 4 were there already")
    told = imported(capsys, home, TABLE.replace("71.25", "72"), "--percent", code=2)
    assert f"was imported before with other scores: delete it first with `fairground runs remove {runs[0].name}" in told


def test_they_stand_in_the_table_and_in_no_verdict(home, capsys):
    data = next(Store(home).records()).spec["data"]["name"]
    imported(capsys, home, TABLE.replace("icons", data), "--percent")
    told = json.loads(output_of(capsys, "compare", "--json", "--home", str(home)))
    assert [row["method"] for row in told["rows"]] == ["triplet", "contrastive", "By Foo (imported)"]
    assert told["is_fair"]
    assert told["best"] == ["triplet"]
    assert {pair["a"] for pair in told["pairs"]} | {pair["b"] for pair in told["pairs"]} == {"triplet", "contrastive"}
    assert told["flags"][0]["flag"] == "imported"
    assert told["hints"] == ["imported results on other data sets are left out: cub200"]
    told = output_of(capsys, "compare", "--data", "cub200", "--home", str(home), code=2)
    assert "all of these runs are imported, and no verdict is made on them" in told
    page = Path(fg.report(home=home, quiet=True)).read_text()
    assert "Imported results are not part of this" in page
    assert "All results are imported, so no method can be called better." in page
    assert page.count("By Foo (imported)") >= 2


def test_a_page_of_imported_runs_alone(tmp_path, capsys):
    imported(capsys, tmp_path, TABLE, "--percent")
    page = Path(fg.report(home=tmp_path, quiet=True)).read_text()
    assert page.count("All results are imported, so no method can be called better.") >= 2


@pytest.mark.parametrize("words", [["resume"], ["evaluate"], ["reproduce"], ["train", "--like"]])
def test_there_is_nothing_to_train_or_measure(tmp_path, capsys, words):
    (tmp_path / "theirs.csv").write_text("method,R@1\na,63\n")
    (run,) = fg.import_runs(tmp_path / "theirs.csv", percent=True, home=tmp_path, dataset="icons")
    assert run.scores == {"recall@1": 0.63}
    told = output_of(capsys, *words, run.name[:12], "--home", str(tmp_path), code=2)
    assert f"run {run.name} is imported: only its scores are here, so it cannot be trained" in told


def test_the_last_row_of_a_history_counts(home, capsys):
    history = "_step,loss,e_recall\n0,1.5,0.1\n2,0.5,0.4\n1,0.9,0.3\n3,0.2,\n"
    imported(capsys, home, history, "method=mine", "dataset=icons", "protocol=laptop", "recall@1=e_recall")
    (run,) = [run for run in fg.runs(home=home) if run.record.is_imported]
    assert (run.scores, run.record.spec["protocol"]) == ({"recall@1": 0.4}, "laptop")


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("method,data,R@1\na,b,63.2\n", [], r"line 2: recall@1 must be in \[0, 1\]; got 63.2; say --percent if"),
        ("method,data,R@1\na,b,163\n", ["--percent"], r"recall@1 must be in \[0, 100\]; got 163$"),
        ("method,data,R@1\na,b,high\n", [], "line 2: recall@1 must be a number; got 'high'"),
        ("method,R@1\na,0.5\n", [], "line 2: no dataset: add a column dataset, or say dataset=NAME"),
        ("method,data,seed,R@1\na,b,0,0.5\na,b,0,0.6\n", [], "line 3: seed 0 of a comes twice"),
        ("method,data,score\na,b,0.5\n", [], "has no column of a metric, like recall@1: name one, like recall@1=score"),
        ("method,data,score\na,b,0.5\n", ["recall@1=scor"], "has no column 'scor'. Did you mean 'score'"),
        ("method,data,score\na,b,0.5\n", ["metod=x"], "no column 'metod': it must be method, .*Did you mean 'method'"),
    ],
)
def test_mistakes_are_sentences_and_nothing_is_imported(home, capsys, text, words, sentence):
    assert re.search(sentence, imported(capsys, home, text, *words, code=2))
    assert not any(run.record.is_imported for run in fg.runs(home=home))
