"""Known or unknown at the size of an index: the promise by arithmetic, by loops, and on unseen classes."""

import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.deploy import index_search, query_index, unknown_classes, vote
from fairground.deploy.index_folder import build_index, open_index, remove_from_index
from fairground.deploy.unknown_classes import DecisionRule, OpenSetTrials, rule_of, trials_of
from fairground.errors import InputError


def of_scores(scores, classes, n_indexed):
    """Trials of which only what unknown queries score matters."""
    none = np.zeros(len(scores), bool)
    return OpenSetTrials(
        classes=classes, unknown=scores, known=scores, votes=none, is_right=none, has_own=none, n_indexed=n_indexed
    )


def test_p_values_by_hand():
    # Class 0 scores 1 and 3, class 1 scores 2; an index of 5 classes, so r = 5 / 4.
    three = of_scores(np.array([1.0, 3, 2]), np.array([0, 0, 1]), 5)
    # At 2: half of class 0 and all of class 1 pass: (1 + 1.25 * 1.5) / 3.
    assert three.p_value(np.array([2.0])) == pytest.approx([2.875 / 3])
    assert three.p_value(np.array([3.0, 3.5])) == pytest.approx([1.625 / 3, 1 / 3])
    assert three.threshold(0.3) is None
    # 3 itself has p = 0.54, so only what lies above it passes.
    assert three.threshold(0.4) == np.nextafter(3.0, 4)
    assert three.threshold(0.6) == np.nextafter(2.0, 3)


def test_left_out_classes_are_measured_with_thresholds_found_without_them():
    draw = np.random.default_rng(0)
    scores, classes = draw.normal(size=200), np.repeat(np.arange(40), 5)
    conformal = of_scores(scores, classes, 40)
    rates = []
    for label in range(40):
        others = of_scores(scores[classes != label], classes[classes != label], 40)
        rates.append((others.p_value(scores[classes == label]) <= 0.1).mean())
    rate, low, high = conformal.measured(0.1)
    assert rate == pytest.approx(np.mean(rates))
    assert low < rate < high


def test_the_promise_holds_on_average_over_many_draws():
    draw = np.random.default_rng(1)
    passed = []
    for _ in range(400):
        centres = draw.normal(size=25)
        scores = np.repeat(centres, 4) + draw.normal(size=100)
        conformal = of_scores(scores, np.repeat(np.arange(25), 4), 25)
        unknown = draw.normal() + draw.normal(size=4)
        passed.append((conformal.p_value(unknown) <= 0.1).mean())
    # Promised 10 %; 400 draws leave a standard error of about 1.2.
    assert 0.03 < np.mean(passed) < 0.125


def test_confidence_by_hand():
    trials = OpenSetTrials(
        classes=np.array([0, 0, 1, 1]),
        unknown=np.array([0.1, 0.2, 0.3, 0.9]),
        known=np.array([0.5, 0.2, 0.8, 0.9]),
        votes=np.array([5, 1, 5, 4]),
        is_right=np.array([True, False, True, True]),
        has_own=np.array([True, True, True, True]),
        n_indexed=2,
    )
    # At 0.3: three quarters of the unknown and a quarter of the known queries score so low.
    assert trials.unknown_confidence(0.3) == pytest.approx(0.75)
    lowest = min(trials.unknown.min(), trials.known[trials.has_own].min())
    assert trials.unknown_confidence(-1.0) == trials.unknown_confidence(lowest) is not None
    # Two answers with five votes, both right; one of each is added.
    assert trials.right_share(0.4, 5) == pytest.approx(3 / 4)
    assert trials.right_share(0.4, 2) is None
    value, interval = trials.identified(0.6)
    assert value == pytest.approx(0.5)
    assert interval.low <= value <= interval.high


def test_votes():
    labels = np.array([[1, 2, 2, 3, 1], [4, 4, 4, 0, 0], [7, -1, -1, -1, -1]])
    classes, counts = vote(labels)
    # Of equal counts the class of the nearest row.
    assert classes.tolist() == [1, 4, 7]
    assert counts.tolist() == [2, 3, 1]


@pytest.mark.parametrize("is_raw", [False, True])
def test_trials_agree_with_a_loop(is_raw, monkeypatch):
    monkeypatch.setattr(index_search, "BLOCK", 16)
    draw = np.random.default_rng(2)
    labels = draw.integers(6, size=50)
    labels[0] = 6  # a class of one
    rows = draw.normal(size=(7, 4))[labels] + draw.normal(size=(50, 4))
    rows = (rows if is_raw else rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    found = unknown_classes.open_set_trials(rows, labels, np.arange(50), is_raw=is_raw)
    similar = -np.linalg.norm(rows[:, None] - rows, axis=2) if is_raw else rows @ rows.T
    for i in range(50):
        others = [j for j in range(50) if j != i]
        order = sorted(others, key=lambda j: -similar[i, j])[:5]
        assert found.unknown[i] == pytest.approx(max(similar[i, j] for j in others if labels[j] != labels[i]), abs=1e-3)
        assert found.known[i] == pytest.approx(similar[i, order[0]], abs=1e-3)
        counts = [sum(labels[j] == labels[n] for n in order) for j in order]
        assert found.votes[i] == max(counts)
        assert found.is_right[i] == (labels[order[counts.index(max(counts))]] == labels[i])
    assert found.has_own.tolist() == [i > 0 for i in range(50)]
    assert found.n_indexed == 7


@pytest.fixture(scope="module")
def icon_index(model, tmp_path_factory):
    return build_index(model, "icons", tmp_path_factory.mktemp("icons") / "index")


def test_only_classes_the_model_has_not_seen_stand_for_unknown_ones(icon_index):
    untrained = set(icon_index.class_names) - set(icon_index.model.metadata.classes)
    assert untrained
    trials = trials_of(icon_index)
    assert {icon_index.info.class_names[label] for label in trials.classes} == untrained
    assert trials.n_indexed == len(icon_index.class_names)
    assert len(trials.classes) <= unknown_classes.ROWS


def test_the_rate_is_measured_and_said(icon_index):
    rule = rule_of(icon_index)
    rate, low, high = rule.measured_fpir
    assert low <= rate <= high
    assert rate <= 0.05
    assert rule.sentence().startswith("At most 5 % of pictures of unknown classes are given a class of this index of ")
    measured = f"Measured on {rule.trials.n_classes} classes, each left out in turn: {100 * rate:.1f} %"
    assert measured in rule.sentence()
    own = rule_of(icon_index, threshold=rule.threshold)
    assert "as asked: at most " in own.sentence()
    with pytest.raises(InputError, match="must be between 0 and 1; got 2"):
        rule_of(icon_index, fpir=2)


def test_nothing_passed_is_not_taken_for_certainty():
    scores, classes = np.tile([0.0, 1.0], 20), np.repeat(np.arange(20), 2)
    rule = DecisionRule(n_rows=40, threshold=1.5, fpir=0.05, trials=of_scores(scores, classes, 20))
    # (1 - m)^20 = 0.025 at m = 16.8 %.
    assert rule.measured_fpir == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 20)))


def test_trials_of_a_large_index_are_kept_and_again_when_it_changes(icon_index, tmp_path, monkeypatch):
    folder = shutil.copytree(icon_index.folder, tmp_path / "copy")
    monkeypatch.setattr(unknown_classes, "_KEPT", 1)
    first = trials_of(open_index(folder))
    assert (folder / "open_set.npz").is_file()
    monkeypatch.setattr(unknown_classes, "open_set_trials", None)
    again = trials_of(open_index(folder))
    assert np.array_equal(first.unknown, again.unknown)
    assert first.n_indexed == again.n_indexed
    monkeypatch.undo()
    gone = icon_index.ids[icon_index.labels == first.classes[0]]
    remove_from_index(folder, ids=gone.tolist())
    assert not np.array_equal(trials_of(open_index(folder)).classes, first.classes)
    (folder / "open_set.npz").write_bytes(b"nonsense")
    trials_of(open_index(folder))


def test_queries_with_classes_are_right_or_wrong(icon_index, pictures, tmp_path):
    rule = rule_of(icon_index)
    results = query_index(icon_index, pictures, k=2, rule=rule)
    for result in results:
        expected = result.decision.is_known and result.decision.label == result.truth
        if result.is_truth_indexed:
            assert result.is_right is expected
        else:
            assert result.is_right is (not result.decision.is_known)
        assert result.decision.confidence is None or 0 < result.decision.confidence <= 1
        assert (result.decision.unknown_rate <= 0.05) is result.decision.is_known
    page = tmp_path / "page.html"
    said = CliRunner().invoke(app, ["query", str(icon_index.folder), str(pictures), "-k", "3", "--page", str(page)])
    assert said.exit_code == 0, said.output
    assert "whose class is not in the index" in said.output
    assert "given a class" in page.read_text(encoding="utf-8")
