from pathlib import Path

import pytest

from fairground.errors import InputError
from fairground.fairness.told import selected_on
from fairground.records.artefacts import RunFolder
from fairground.training.run import run
from tests.training.tiny import tiny

ON_TEST = ("split.validation=0", "evaluation.select_on=test", "evaluation.report=best_of_each")


def test_a_protocol_may_select_on_test_if_it_says_so_and_the_record_then_says_so_too(tmp_path: Path) -> None:
    opened: list[str] = []
    record = run(tiny(*ON_TEST), home=tmp_path, witness=opened.append)
    assert record.state == "done"
    assert all(score.split == "test" for score in record.scores)
    observations = [row.validation for row in record.epochs if row.epoch > 0]
    for metric in ("recall@1", "map@r"):
        assert record.score(metric) == max(look[metric] for look in observations)
    assert selected_on(record) == "test"
    assert any(
        note.startswith("selected on the test split, each metric at its own best epoch") for note in record.notes
    )
    assert "the spec says that the test split selects" in opened[0]


def test_no_validation_split_and_no_word_about_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds nothing out for validation, so nothing could select but the test"):
        run(tiny("split.validation=0"), home=tmp_path)


def test_the_best_of_each_metric_needs_selection_on_test() -> None:
    with pytest.raises(InputError, match="best_of_each picks epochs by test scores"):
        tiny("evaluation.report=best_of_each")


def test_a_trial_never_opens_the_test_split(tmp_path: Path) -> None:
    opened: list[str] = []
    record = run(tiny("evaluation.test=false"), home=tmp_path, witness=opened.append)
    assert opened == []
    assert {score.split for score in record.scores} == {"validation"}
    assert not RunFolder(tmp_path, record.name).embeddings.exists()


def test_analyses_are_made_of_the_training_split(tmp_path: Path) -> None:
    record = run(tiny('evaluation.analyses=["rho", "pi", "spectrum"]'), home=tmp_path)
    rho = record.score("rho", "train")
    assert rho is not None
    assert rho >= 0
    assert RunFolder(tmp_path, record.name).analyses.exists()


def test_mixed_precision_trains_and_gives_float_embeddings(tmp_path: Path) -> None:
    record = run(tiny("training.precision=mixed"), home=tmp_path)
    assert record.state == "done"
    assert record.score("map@r") != run(tiny(), home=tmp_path).score("map@r")
