from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fairground.comparison.fairness_warnings import check_fairness
from fairground.contracts.metric import Verification, VerificationMetric
from fairground.errors import InputError
from fairground.evaluation import evaluate, pretrained_embeddings
from fairground.files import read_with_digest
from fairground.loggers.feed import numbers_of
from fairground.records import RunFolder, RunRecord, Selection, checkpoints_newest_first
from fairground.spec import declaration, load_run, name_of, parse_overrides
from fairground.training.device import half_of, require_precision
from fairground.training.run import run
from tests.training.stopping import stop_and_resume
from tests.training.tiny import tiny

ON_TEST = ("split.validation=0", "evaluation.select_on=test", "evaluation.report=best_of_each")


def test_a_protocol_may_select_on_test_if_it_says_so_and_the_record_then_says_so_too(tmp_path: Path) -> None:
    opened: list[str] = []
    metrics = 'evaluation.metrics=["recall@1", "map@r", "eer"]'
    record = run(tiny(*ON_TEST, metrics), home=tmp_path, witness=opened.append)
    assert record.state == "done"
    assert all(score.split == "test" for score in record.scores)
    observations = [row.validation for row in record.epochs if row.epoch > 0]
    for metric in ("recall@1", "map@r"):
        assert record.score(metric) == max(look[metric] for look in observations)
    assert record.score("eer") == min(look["eer"] for look in observations)
    assert record.selection == Selection(split="test", metric="map@r", is_best_of_each=True)
    assert "selected on the test split, each metric at its own best epoch" in " ".join(record.notes)
    assert "the spec says that the test split selects" in opened[0]


def test_selection_on_test_must_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="so checkpoints could only be selected on the test split"):
        run(tiny("split.validation=0"), home=tmp_path)
    with pytest.raises(InputError, match="best_of_each picks epochs by test scores"):
        tiny("evaluation.report=best_of_each")


def test_a_trial_never_opens_the_test_split(tmp_path: Path) -> None:
    opened: list[str] = []
    record = run(tiny("evaluation.test=false"), home=tmp_path, witness=opened.append)
    assert opened == []
    assert {score.split for score in record.scores} == {"validation"}
    assert not RunFolder(tmp_path, record.name).embeddings.exists()


def test_a_watched_test_split_keeps_every_epochs_scores_and_selects_nothing(tmp_path: Path) -> None:
    opened: list[str] = []
    sealed = run(tiny(), home=tmp_path / "sealed")
    watched = run(tiny("evaluation.watch_test=true"), home=tmp_path / "watched", witness=opened.append)
    assert watched.best_epoch == sealed.best_epoch
    assert [row.validation for row in watched.epochs] == [row.validation for row in sealed.epochs]
    assert watched.score("map@r") == sealed.score("map@r")
    assert all(set(row.test) == set(row.validation) for row in watched.epochs)
    chosen = next(row for row in watched.epochs if row.epoch == watched.best_epoch)
    assert chosen.test["map@r"] == watched.score("map@r")
    assert not any(row.test for row in sealed.epochs)
    assert watched.selection == Selection(split="validation", metric="map@r")
    assert watched.notes[0] == "the test split was measured after every validation; validation selected"
    assert "the test split is watched while validation selects" in opened[0]
    assert RunRecord.from_json(watched.to_json()) == watched
    assert watched.digits() != replace(watched, epochs=sealed.epochs).digits()


def test_measures_of_the_training_split_go_into_the_rows_of_epochs_and_change_nothing(tmp_path: Path) -> None:
    plain = run(tiny('evaluation.analyses=["rho", "pi"]'), home=tmp_path / "plain")
    watched = tiny('evaluation.analyses=["rho", "pi"]', "training.analyse_every=2")
    logged = run(watched, home=tmp_path / "logged")
    measures = {"rho", "pi_intra", "pi_inter", "pi_ratio"}
    # Before training, every second epoch, and the last.
    assert [set(row.train) for row in logged.epochs] == [measures, set(), measures, measures]
    assert [replace(row, train={}, seconds=0, images_per_second=0) for row in logged.epochs] == [
        replace(row, seconds=0, images_per_second=0) for row in plain.epochs
    ]
    assert (logged.score("map@r"), logged.best_epoch) == (plain.score("map@r"), plain.best_epoch)
    chosen = next(row for row in logged.epochs if row.epoch == logged.best_epoch)
    assert not chosen.train or chosen.train["rho"] == logged.score("rho", "train")
    assert RunFolder(tmp_path / "logged", logged.name).analyses.exists()
    assert RunRecord.from_json(logged.to_json()) == logged
    assert ("train/rho", 2, logged.epochs[2].train["rho"]) in numbers_of(logged.epochs)
    assert name_of(tiny("training.analyse_every=0")) == name_of(tiny())
    with pytest.raises(InputError, match=r"training\.analyse_every must be at least 0; got -1"):
        tiny("training.analyse_every=-1")


@pytest.mark.parametrize("words", ["precision=bf16", "precision=fp16", "precision=fp16 training.gradient_chunk=10"])
def test_numbers_of_two_bytes_train_and_resume_with_their_scale(words: str, tmp_path: Path) -> None:
    spec = tiny("training.freeze_batch_norm=stats", "optimiser.clip_norm=1.0", *f"training.{words}".split())
    record, full = stop_and_resume(spec, tmp_path, 2), run(tiny("training.freeze_batch_norm=stats"), home=tmp_path)
    assert record.score("map@r") != full.score("map@r")
    assert record.score("map@r") == pytest.approx(full.score("map@r"), abs=0.1)
    newest = checkpoints_newest_first(RunFolder(tmp_path / "stopped", record.name).checkpoints)[0]
    steps = record.epochs[-1].step if "fp16" in words else None
    assert read_with_digest(newest)["scaler"].get("_growth_tracker") == steps


def test_precision_is_refused_where_the_hardware_has_none_and_auto_says_what_it_took(tmp_path: Path) -> None:
    assert "training.precision=auto: float32" in run(tiny("training.precision=auto"), home=tmp_path).notes
    old, new = torch.device("cuda", 6), torch.device("cuda", 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
        assert half_of("auto", old) == torch.float16
        with pytest.raises(InputError, match=r"precision=bf16 needs hardware that cuda:6 does not .* full, fp16, auto"):
            require_precision("bf16", old)
        patch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
        assert half_of("auto", new) == torch.bfloat16


class ImpostorMetric(VerificationMetric):
    """The share of impostors above the least similar genuine pair: somebody's own metric, less is better."""

    higher_is_better = False

    def score(self, curve: Verification) -> float:
        return float(curve.impostors_above[0] / curve.n_impostors)


OWN = "tests.training.test_selection:ImpostorMetric"
LOWER = ["eer", "fnmr@fmr=0.01", OWN]


def looks(record: RunRecord, metric: str) -> dict[int, float]:
    return {row.epoch: row.validation[metric] for row in record.epochs if row.epoch > 0}


def judged_by(metric: str, *words: str) -> tuple[str, ...]:
    return (f'evaluation.metrics=["{metric}", "map@r"]', f"evaluation.select_by={metric}", *words)


@pytest.mark.parametrize("metric", LOWER)
def test_where_less_is_better_the_epoch_with_the_lowest_score_is_selected(metric: str, tmp_path: Path) -> None:
    words = judged_by(metric, "data.noise=1.5", "training.epochs=4", 'evaluation.analyses=["rho"]')
    record = run(tiny(*words), home=tmp_path)
    found = looks(record, metric)
    assert len(set(found.values())) > 1
    assert record.best_epoch == min(found, key=lambda epoch: found[epoch])
    assert record.score(metric, "validation") == min(found.values())
    assert {(score.metric, score.split): score.higher_is_better for score in record.scores} == {
        ("rho", "train"): None,
        (metric, "validation"): False,
        ("map@r", "validation"): True,
        (metric, "test"): False,
        ("map@r", "test"): True,
    }
    assert record.higher_is_better(metric) is False


def test_a_record_says_how_it_was_selected_and_clustered(tmp_path: Path) -> None:
    clustered = ("nmi", "ami", "f1", "purity")
    words = f"evaluation.metrics={['map@r', *clustered]}"
    record = run(tiny(words, "evaluation.clustering_seeds=3"), home=tmp_path)
    assert record.selection == Selection(split="validation", metric="map@r")
    assert (record.clustering_seeds, record.is_closed_set, record.known_bugs, record.weights) == (3, False, (), None)
    once = run(tiny(words), home=tmp_path)
    assert once.clustering_seeds == 1
    assert all(once.score(metric) != record.score(metric) for metric in clustered)
    assert once.score("map@r") == record.score("map@r")
    for runs, is_flagged in (([record], False), ([once], True)):
        flags = {flag.flag for flag in check_fairness({"a": runs}, metric="map@r").flags}
        assert ("clustering" in flags) == is_flagged


def test_principal_axes_of_the_evaluated_images_are_the_papers_way(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 20)
    features = (random.normal(size=(12, 16))[labels] + 2 * random.normal(size=(240, 16))).astype(np.float32)
    np.savez(tmp_path / "features.npz", features=features, labels=labels)
    words = [f"data.path={tmp_path / 'features.npz'}", "head=identity", "sampler=uniform", "training.epochs=0"]
    words += ["training.batch_size=32", "evaluation.principal_axes=5", "evaluation.metrics=['recall@1', 'map@r']"]
    spec = load_run(protocol="features", overrides=parse_overrides(words))
    record = run(spec, home=tmp_path)
    test = labels >= 6
    embeddings = pretrained_embeddings(torch.from_numpy(features[test]), dim=5)
    wanted = evaluate(embeddings.numpy(), labels[test], metrics=["recall@1", "map@r"])
    assert {name: record.score(name) for name in wanted} == pytest.approx(wanted)
    assert "5 principal axes of the EVALUATED IMAGES" in declaration(spec)["embeddings when measured"]
    with pytest.raises(InputError, match=r"evaluation.principal_axes is for networks that are not trained"):
        load_run(protocol="features", overrides=parse_overrides([words[0], "evaluation.principal_axes=5"]))
    plain, zero = load_run(protocol="laptop"), load_run(protocol="laptop", overrides={"evaluation.principal_axes": 0})
    assert name_of(plain) == name_of(zero)
