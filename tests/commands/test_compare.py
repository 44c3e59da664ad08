import json
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.records import RunRecord, Store
from fairground.reporting import comparison_text
from tests.commands.test_commands import fairground, output_of
from tests.comparison.methods import method
from tests.records.factory import hashed


def filled(folder: Path, *methods: list[RunRecord]) -> Path:
    Store(folder).append_all(record for runs in methods for record in runs)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two methods far apart, and one level with the better of them."""
    return filled(
        tmp_path,
        method(loss="contrastive", level=0.2, seeds=5),
        method(loss="margin", level=0.4, spread=0.01, seeds=5),
        method(loss="triplet", level=0.402, spread=0.01, seeds=5),
    )


def test_all_runs_of_a_home_in_one_table_with_verdicts(home, capsys):
    told = output_of(capsys, "compare", "--home", str(home))
    assert "By MAP@R, intervals of all 3 pairs hold at once at 95 %; equivalent is within ±0.50 %:" in told
    for better in ("margin", "triplet"):
        assert f"  {better} is better than contrastive by " in told
    assert "not settled, difference" in told
    assert "would settle it" in told
    assert "? not significantly different from the best." in told
    assert "unfair" not in told


def test_trials_of_a_search_are_left_out_unless_named(home, capsys):
    (record,) = method(loss="n_pair", level=0.9, seeds=1)
    spec = {**record.spec, "evaluation": {"test": False}}
    trial = replace(record, spec=spec, name=hashed(spec), method=hashed({**spec, "seed": 0}))
    Store(home).append(trial)
    assert "n_pair" not in output_of(capsys, "compare", "--home", str(home))
    assert "n_pair" in output_of(capsys, "compare", "--home", str(home), "--anyway", trial.name)


def test_runs_by_prefix_methods_by_hash_and_repeats_hinted_at(home, capsys):
    margin = next(Store(home).records(loss="margin")).method
    triplet = next(Store(home).records(loss="triplet"))
    told = json.loads(output_of(capsys, "compare", margin, triplet.name[:8], "--json", "--home", str(home)))
    assert {row["method"]: row["n_done"] for row in told["rows"]} == {"margin": 5, "triplet": 1}
    assert told["hints"][0].endswith(f"of a method in the table: name it by its hash, {triplet.method}, for all")
    assert {flag["flag"] for flag in told["flags"]} == {"no_repeats", "seeds"}
    (pair,) = told["pairs"]
    assert (pair["verdict"], pair["reason"], pair["low"]) == ("unsettled", "too few runs", None)


def test_one_metric_is_compared_and_an_unknown_one_refused(home, capsys):
    told = json.loads(output_of(capsys, "compare", "--metric", "recall@1", "--json", "--home", str(home)))
    assert told["metric"] == "recall@1"
    assert list(told["rows"][0]["scores"]) == ["recall@1"]
    assert "weak_metric" in {flag["flag"] for flag in told["flags"]}
    assert fairground("compare", "-m", "recal@1", "--home", str(home)) == 2
    assert "no test score 'recal@1' in these runs. Did you mean 'recall@1'?" in capsys.readouterr().err


def test_an_unfair_table_is_refused_with_every_reason(tmp_path, capsys):
    filled(tmp_path, method(), method(loss="margin", trunk__name="resnet50", head__embedding_dim=512, level=0.5))
    assert fairground("compare", "--home", str(tmp_path)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("fairground: these 2 methods differ in more than what is compared (trunk, embedding")
    assert "  embedding_dim: head.embedding_dim: 128 (" in told.err
    assert "More dimensions retrieve better whatever the loss (MLRC 2.1)." in told.err
    assert "  trunk: trunk: small_conv (" in told.err
    assert "--anyway" in told.err


def test_anyway_marks_every_row_and_every_verdict(tmp_path, capsys):
    filled(tmp_path, method(), method(loss="margin", optimiser__lr=0.1, level=0.5), method(loss="snr", level=0.4))
    lines = output_of(capsys, "compare", "--anyway", "--home", str(tmp_path)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---"))
    assert all(line.startswith("[unfair] ") for line in lines[start + 1 : start + 4])
    said = [line for line in lines if "better than" in line or "not settled" in line]
    assert len([line for line in said if line.startswith("  [unfair] ")]) == 3
    assert any(line.startswith("  optimiser: optimiser.lr: ") for line in lines)


def test_json_of_a_refusal_has_reasons_but_no_numbers(tmp_path, capsys):
    filled(tmp_path, method(), method(loss="margin", training__epochs=99))
    assert fairground("compare", "--json", "--home", str(tmp_path)) == 2
    told = json.loads(capsys.readouterr().out)
    assert not told["is_fair"]
    assert [(d["rule"], d["what"]) for d in told["differences"]] == [("budget", "training.epochs")]
    assert (told["rows"], told["pairs"], told["best"]) == ([], [], [])
    assert len(json.loads(output_of(capsys, "compare", "--json", "--anyway", "--home", str(tmp_path)))["rows"]) == 2


def test_nothing_to_compare_is_a_sentence(tmp_path, capsys):
    assert fairground("compare", "--home", str(tmp_path / "none")) == 2
    assert "there is no finished run to compare in" in capsys.readouterr().err
    assert "no run 'zzzz'" in output_of(capsys, "compare", "zzzz", "--home", str(tmp_path / "none"), code=2)
    assert not (tmp_path / "none").exists()


def test_of_many_pairs_those_with_the_best_are_printed():
    runs = [run for i in range(8) for run in method(loss=f"loss{i}", level=0.2 + i / 20)]
    table = comparison_text.compare_records(runs)
    told = comparison_text.text(table)
    assert told.count("is better than") == 7
    assert told.count("  loss7 is better than") == 7
    assert "and 21 pairs without the first method" in told
    assert len(comparison_text.plain(table)["pairs"]) == 28


def test_pairs_that_lack_a_second_run_share_one_line():
    runs = [method(loss=f"loss{i}", level=0.2 + i / 20)[0] for i in range(4)]
    told = comparison_text.text(comparison_text.compare_records(runs))
    assert "no verdict on 6 pairs: a verdict needs at least two runs of each method" in told
    assert told.count("a verdict needs") == 1


def test_the_example_of_the_docs_is_what_python_prints(capsys):
    guide = (Path(__file__).parents[2] / "docs" / "fairness.md").read_text(encoding="utf-8")
    _, program, _, printed, *_ = guide.split("## How to read a verdict")[1].split("```")
    exec(program.removeprefix("python\n"), {})
    assert capsys.readouterr().out == printed.removeprefix("text\n")
