"""`fairground compare --values`: the same verdicts for numbers made elsewhere."""

import json
from pathlib import Path

import pytest

import fairground as fg
from tests.commands.test_commands import fairground

LINES = "A,0,0.31\nA,1,0.33\nA,2,0.32\nB,0,0.25\nB,1,0.27\nB,2,0.26\n"
VALUES = {"A": {"0": 0.31, "1": 0.33, "2": 0.32}, "B": {"0": 0.25, "1": 0.27, "2": 0.26}}


def written(folder: Path, text: str) -> str:
    path = folder / "results.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_and_the_same_numbers_in_python_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "method,seed,value\n" + LINES)
    assert fairground("compare", "--values", path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    (pair,) = fg.compare_values(VALUES).pairs
    assert told["pairs"][0]["sentence"] == pair.sentence
    assert (told["pairs"][0]["verdict"], told["best"]) == ("better", ["A"])
    assert fairground("compare", "--values", path) == 0
    said = capsys.readouterr().out
    assert said.startswith("A is better than every other method.")
    assert pair.sentence in said


def test_margin_level_and_direction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "method,seed,value\n" + LINES)
    options = ("--margin", "0.2", "--level", "0.9", "--lower-is-better", "--json")
    assert fairground("compare", "--values", path, *options) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["margin"], told["level"], told["best"]) == (0.2, 0.9, ["B"])
    assert fairground("compare", "--values", path, "--level", "7") == 2
    assert "level must be between" in capsys.readouterr().err


def test_folds_are_averaged_and_data_sets_compared_apart_and_over_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        f"{method},{seed},{0.3 + gap + 0.01 * seed + 0.001 * fold + 0.02 * i},{dataset},{fold}"
        for i, dataset in enumerate(("birds", "cars", "shops"))
        for method, gap in (("A", 0.1), ("B", 0.0))
        for seed in range(3)
        for fold in range(2)
    ]
    path = written(tmp_path, "method,seed,value,dataset,fold\n" + "\n".join(lines))
    assert fairground("compare", "--values", path, "--over-datasets", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["dataset"] for one in told["datasets"]] == ["birds", "cars", "shops"]
    assert told["datasets"][0]["methods"][0]["n"] == 3
    assert told["over_datasets"]["methods"][0]["rank"] == 1
    assert fairground("compare", "--values", path, "--over-datasets") == 0
    said = capsys.readouterr().out
    assert "birds: A is better than every other method." in said
    assert "Over 3 data sets. Rank 1 is best" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("method,value\nA,1\n", "needs the columns method, seed, value"),
        ("method,seed,value\nA,0,high\n", "line 2: value must be a number; got 'high'"),
        ("method,seed,value\nA,0,1\nA,0,2\n", "method 'A', seed 0 is given twice"),
        ("method,seed,value\nA,,1\n", "line 2: seed is empty"),
        ("method,seed,value\n", "has no values below its heading"),
        ("method,seed,value\nA,0,nan\n", "needs finite values"),
        ("method,seed,value,method\nA,0,1,B\n", "names a column twice"),
        ("method,seed,value\n" + "A" * 200_000 + ",0,1\n", "is not a readable CSV file in UTF-8: field larger than"),
        ("method,seed,value\n" + "".join(f"{i},0,1\n" for i in range(201)), "has 201 methods"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str) -> None:
    assert fairground("compare", "--values", written(tmp_path, text)) == 2
    assert words in capsys.readouterr().err


def test_the_example_of_the_docs_is_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "fairness.md").read_text(encoding="utf-8")
    _, numbers, _, printed, *_ = guide.split("## How to read a verdict")[1].split("```")
    assert fairground("compare", "--values", written(tmp_path, numbers.removeprefix("text\n"))) == 0
    assert capsys.readouterr().out == printed.removeprefix("text\n")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str
) -> None:
    (tmp_path / "results.csv").write_text("method,seed,value\nÄ,0,1\n", encoding=encoding)
    assert fairground("compare", "--values", str(tmp_path / "results.csv")) == 2
    assert "is not a readable CSV file in UTF-8" in capsys.readouterr().err


def test_what_is_no_file_is_called_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = {tmp_path: "Is a directory", tmp_path / "x": "no such file"}
    for path, words in cases.items():
        assert fairground("compare", "--values", str(path)) == 2
        assert words in capsys.readouterr().err
