import json
from pathlib import Path

import pytest

from fairground.papers.published_numbers import published_rows
from fairground.records.store import Store
from tests.commands.test_commands import output_of
from tests.papers.test_reproduction import ROTH, run


def test_all_tables_are_listed_with_what_they_were_selected_on(capsys):
    told = output_of(capsys, "published")
    assert "roth2020/table2" in told
    assert "mlrc2020/reported-triplet" in told
    lines = {line.split()[0]: line for line in told.splitlines() if line.startswith("  ")}
    assert len(lines) == 18
    assert all(lines[f"roth2020/table{n}"].endswith("(selected on the test set)") for n in range(2, 10))
    assert "selected" not in lines["mlrc2020/table4"]


def test_a_query_shows_value_spread_meaning_errata_and_selection(capsys):
    words = ("--dataset", "cub200", "--metric", "recall@1", "--method", "margin")
    told = output_of(capsys, "published", "roth2020/table2", *words)
    assert "SELECTED ON THE TEST SET" in told
    assert "63.09 ± 0.46" in told
    assert "± population standard deviation over 5 seeds" in told
    assert "E53: Each number is the maximum over epochs on the test set" in told
    assert "NMI" not in told.splitlines()[2]


def test_a_corrected_value_stands_beside_the_printed_one(capsys):
    told = output_of(capsys, "published", "roth2020/table2", "-d", "cub200")
    assert "57.56 (right: 52.91)" in told
    assert "E54: Table 2 prints" in told
    assert "note (Imagenet cub200 nmi): ImageNet weights; 57.56 is table 4's R@2" in told


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("roth2020/tabel2",), "Did you mean 'roth2020/table2'?"),
        (("roth2020/table2", "--dataset", "cub20"), "Did you mean 'cub200'?"),
        (("--metric", "map@q"), "Did you mean 'map@"),
    ],
)
def test_a_wrong_word_is_a_sentence_and_exit_code_2(words, hint, capsys):
    assert hint in output_of(capsys, "published", *words, code=2)


def test_our_runs_are_held_against_the_numbers(tmp_path, capsys):
    home = tmp_path / "runs"
    chosen = ("roth2020/table2", "--method", ROTH.method, "-m", "recall@1")
    words = ("published", *chosen, "--compare", "--home", str(home))
    assert "follows roth2020-cub200 with one of these losses" in output_of(capsys, *words)
    store = Store(home)
    for seed, score in enumerate((0.629, 0.631, 0.630)):
        store.append(run(ROTH, score, seed=seed))
    assert ": reproduced: the 95 % intervals of Recall@1 overlap: ours 63.00 ±" in output_of(capsys, *words)
    (verdict,) = json.loads(output_of(capsys, *words, "--json"))["comparisons"]
    assert verdict["outcome"] == "reproduced"
    assert verdict["row"] == "roth2020/table2 Margin (D, β = 1.2)"


def test_the_coverage_table_of_the_docs_is_the_commands_own(capsys):
    printed = output_of(capsys, "published", "--coverage").strip()
    page = (Path(__file__).parents[2] / "docs" / "published.md").read_text(encoding="utf-8")
    assert page.partition("<!-- coverage -->\n")[2].partition("\n<!-- /coverage -->")[0] == printed
    n_covered, n_printed = (int(word) for word in printed.split()[:3:2])
    assert (n_covered, n_printed) == (1526, len(published_rows()))
