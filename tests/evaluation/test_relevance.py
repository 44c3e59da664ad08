"""Relevance beyond one label: rules on sets of labels, levels of a hierarchy and graded functions, against loops."""

import numpy as np
import pytest

from fairground.errors import InputError
from fairground.evaluation import Bootstrap, EmbeddingView, evaluate, evaluate_in_detail, score_file_in_detail
from tests.metrics import test_graded_metrics as by_loops
from tests.metrics.oracle import hit_lists

DRAW = np.random.default_rng(2)
POINTS = DRAW.integers(-3, 4, (60, 3))
MARKED = DRAW.random((60, 7)) < 0.3
SETS = [set(np.flatnonzero(row).tolist()) for row in MARKED]
NARROW = DRAW.integers(12, size=60)
LEVELS = np.column_stack([NARROW, NARROW // 3, NARROW // 6])
RULES = {
    "any": lambda i, j: float(bool(SETS[i] & SETS[j])),
    "same": lambda i, j: float(SETS[i] == SETS[j] and bool(SETS[i])),
    "query_share": lambda i, j: len(SETS[i] & SETS[j]) / max(1, len(SETS[i])),
    "jaccard": lambda i, j: len(SETS[i] & SETS[j]) / max(1, len(SETS[i] | SETS[j])),
}
METRICS = {
    "weighted_map": by_loops.weighted_map,
    "acg@5": lambda grades: by_loops.acg(grades, 5),
    "ndcg@4": lambda grades: by_loops.ndcg(grades, 4),
    "hierarchical_ap": by_loops.hierarchical_ap,
    "asi": by_loops.asi,
}


def lists_of(relevance, **settings):
    return hit_lists(POINTS, POINTS, relevance, own=range(60), unit=False, **settings)


@pytest.mark.parametrize("rule", RULES)
def test_rules_on_sets_agree_with_loops(rule):
    lists = [grades for grades in lists_of(RULES[rule]) if any(grades)]
    for labels in (SETS, MARKED):
        found = evaluate(POINTS, labels, list(METRICS), relevance=rule, normalise=False)
        for word, definition in METRICS.items():
            assert found[word] == pytest.approx(np.mean([definition(grades) for grades in lists])), word


def test_a_function_may_grade_and_is_asked_within_bounds():
    def jaccard(queries, references):
        return np.array([[RULES["jaccard"](i, j) for j in references] for i in queries])

    settings = {"metrics": list(METRICS), "normalise": False}
    by_function = evaluate(POINTS, relevance=jaccard, **settings)
    assert by_function == pytest.approx(evaluate(POINTS, SETS, relevance="jaccard", **settings))
    with pytest.raises(InputError, match=r"grades of the relevance function must be in \[0, 1\]"):
        evaluate(POINTS, relevance=lambda queries, references: 2 * jaccard(queries, references), **settings)


@pytest.mark.parametrize("names", [LEVELS, LEVELS.astype(str)])
@pytest.mark.parametrize("block", [None, 50])
def test_levels_grade_and_the_class_is_what_a_query_should_find(names, block):
    lists = lists_of(lambda i, j: float((LEVELS[i] == LEVELS[j]).mean()))
    able = np.array([1.0 in grades for grades in lists])
    words = ["hierarchical_ap", "asi", "weighted_map", "map@r", "recall@1"]
    detail = evaluate_in_detail(
        EmbeddingView(POINTS, names, relevance="levels", normalise=False, block=block), words, lone="drop"
    )
    for word in words[:3]:
        expected = [METRICS[word](grades) for grades, has_class in zip(lists, able, strict=True) if has_class]
        assert detail.scores[word] == pytest.approx(np.mean(expected)), word
    plain = evaluate(POINTS, NARROW, words[3:], normalise=False)
    assert {word: detail.scores[word] for word in words[3:]} == plain


def test_levels_with_references_groups_and_reranking():
    cameras, words = np.arange(60) % 4, ["hierarchical_ap", "hierarchical_ap+k_reciprocal"]
    settings = {"relevance": "levels", "groups": cameras, "group_rule": "same_class_and_group", "normalise": False}
    one = evaluate(POINTS, LEVELS, words, **settings)
    twice = evaluate(
        *(POINTS, LEVELS, words[:1], POINTS, LEVELS),
        **{**settings, "group_rule": "same_group", "reference_groups": cameras},
    )
    lists = hit_lists(
        POINTS,
        POINTS,
        lambda i, j: float((LEVELS[i] == LEVELS[j]).mean()),
        is_left_out=lambda i, j: cameras[i] == cameras[j],
        unit=False,
    )
    able = [grades for grades in lists if 1.0 in grades]
    assert twice[words[0]] == pytest.approx(np.mean([by_loops.hierarchical_ap(grades) for grades in able]))
    assert one[words[0]] != one[words[1]]


def test_the_mean_over_labels_counts_every_label_once():
    words = ["weighted_map"]
    view = EmbeddingView(POINTS, SETS, relevance="jaccard", normalise=False)
    detail = evaluate_in_detail(view, words, average="classes", bootstrap=Bootstrap(n_draws=20))
    lists = lists_of(RULES["jaccard"])
    of_labels = []
    for label in range(7):
        able = [grades for i, grades in enumerate(lists) if label in SETS[i] and any(grades)]
        of_labels.append(np.mean([by_loops.weighted_map(grades) for grades in able]))
    assert detail.class_names.tolist() == list(range(7))
    np.testing.assert_allclose(detail.per_class["weighted_map"], of_labels)
    assert detail.scores["weighted_map"] == pytest.approx(np.mean(of_labels))
    assert detail.intervals["weighted_map"].low < np.mean(of_labels) < detail.intervals["weighted_map"].high


@pytest.mark.parametrize(
    ("labels", "relevance", "sentence"),
    [
        (NARROW, "jacard", "relevance must be one of any, same, query_share, jaccard, levels, or a function"),
        (NARROW, "jaccard", "relevance='jaccard' needs a set of labels per row; got one label"),
        (NARROW, "levels", r"relevance='levels' needs labels \(n, L\), one column per level; got shape \(60,\)"),
        (LEVELS[:, ::-1], "levels", "must form a tree; .* classes of level 1 are in more than one class of level 2"),
    ],
)
def test_refusals(labels, relevance, sentence):
    with pytest.raises(InputError, match=sentence):
        evaluate(POINTS, labels, ["ndcg"], relevance=relevance)


def test_a_file_takes_labels_and_levels_as_text(tmp_path):
    words = np.array(["|".join(sorted(map(str, some))) or "none" for some in SETS])
    np.savez(tmp_path / "sets.npz", embeddings=POINTS, labels=words)
    sets = [set(word.split("|")) for word in words]
    for rule in ("any", "query_share", "jaccard"):
        found = score_file_in_detail(tmp_path / "sets.npz", ["ndcg", "map"], relevance=rule).scores
        assert found == evaluate(POINTS, sets, ["ndcg", "map"], relevance=rule)
    numbers = np.asarray(NARROW)
    np.savez(tmp_path / "levels.npz", embeddings=POINTS, labels=numbers, super_labels=numbers // 2)
    found = score_file_in_detail(tmp_path / "levels.npz", ["ndcg", "asi"], relevance="levels").scores
    levels = np.column_stack([numbers, numbers // 2])
    assert found == evaluate(POINTS, levels, ["ndcg", "asi"], relevance="levels")
    with pytest.raises(InputError, match=r"relevance=jaccard needs labels like red\|round; got int64"):
        score_file_in_detail(tmp_path / "levels.npz", ["ndcg"], relevance="jaccard")
    with pytest.raises(InputError, match=r"relevance=levels needs super_labels, or labels \(n, L\)"):
        score_file_in_detail(tmp_path / "sets.npz", ["ndcg"], relevance="levels")
