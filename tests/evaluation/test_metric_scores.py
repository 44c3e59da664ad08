import numpy as np
import pytest
import torch

from fairground.contracts.metric import RankingMetric
from fairground.errors import DataError, InputError
from fairground.evaluation import (
    EmbeddingView,
    concatenate,
    evaluate,
    evaluate_ensemble,
    evaluate_in_detail,
    metric_named,
    score_file_in_detail,
)
from fairground.metrics import FnmrMetric, MapAtRMetric, MapMetric, NdcgMetric, RecallMetric
from tests.metrics.oracle import average_precision, hit_lists

# Fixture G8: points on a line, one class alone.
POSITIONS = np.array([0, 0.1, 0.25, 0.45, 0.7, 1.0, 1.35, 1.75])[:, None]
LABELS = np.array([0, 0, 1, 0, 1, 1, 2, 0])
DROPPED = {"precision@1": 3 / 7, "recall@2": 4 / 7, "recall@4": 1.0}
DROPPED |= {"r_precision": 0.380952, "map@r": 0.281746, "map": 0.544728}
KEPT = {"precision@1": 3 / 8, "recall@2": 4 / 8, "recall@4": 7 / 8}
KEPT |= {"map@c": 0.228299, "map@1000": 0.340203, "precision@c": 0.343750}


def gaussian(n, n_classes, d, seed=0):
    draw = np.random.default_rng(seed)
    labels = draw.integers(n_classes, size=n)
    return (draw.normal(size=(n_classes, d))[labels] + 1.5 * draw.normal(size=(n, d))).astype(np.float32), labels


@pytest.mark.parametrize(("lone", "expected"), [("drop", DROPPED), ("zero", KEPT)])
def test_points_on_a_line(lone, expected):
    scores = evaluate(POSITIONS, LABELS, list(expected), normalise=False, lone=lone)
    assert scores == pytest.approx(expected, abs=1e-6)


def test_separate_gallery_agrees_with_a_loop():
    draw = np.random.default_rng(0)
    queries, references = draw.integers(-3, 4, (40, 3)), draw.integers(-3, 4, (70, 3))
    query_labels, reference_labels = draw.integers(9, size=40), draw.integers(1, 10, size=70)
    lists = hit_lists(queries, references, lambda i, j: query_labels[i] == reference_labels[j], unit=False)
    able = [hits for hits in lists if any(hits)]
    metrics = ["recall@5", "map@r", "map@c"]
    scores = evaluate(queries, query_labels, metrics, references, reference_labels, normalise=False)
    assert scores["recall@5"] == pytest.approx(np.mean([any(hits[:5]) for hits in able]))
    expected = np.mean([average_precision(hits, sum(hits)) / sum(hits) for hits in able])
    # Without the query among the references, a class has no member more than those to find.
    assert scores["map@r"] == pytest.approx(expected)
    assert scores["map@c"] == pytest.approx(expected)


@pytest.mark.parametrize("rule", ["same_group", "same_class_and_group"])
def test_groups_are_left_out_as_a_loop_leaves_them_out(rule):
    draw = np.random.default_rng(1)
    points, labels, cameras = draw.integers(-3, 4, (60, 3)), draw.integers(6, size=60), draw.integers(3, size=60)

    def is_left_out(i, j):
        return cameras[i] == cameras[j] and (rule == "same_group" or labels[i] == labels[j])

    def is_same(i, j):
        return labels[i] == labels[j]

    lists = hit_lists(points, points, is_same, own=range(60), is_left_out=is_left_out, unit=False)
    able = [hits for hits in lists if any(hits)]
    scores = evaluate(points, labels, ["recall@1", "map"], groups=cameras, group_rule=rule, normalise=False)
    assert scores["recall@1"] == pytest.approx(np.mean([hits[0] for hits in able]))
    assert scores["map"] == pytest.approx(np.mean([average_precision(hits, len(hits)) / sum(hits) for hits in able]))


def test_label_sets_a_matrix_and_a_function_say_the_same():
    draw = np.random.default_rng(2)
    points = draw.integers(-3, 4, (50, 3))
    marked = draw.random((50, 7)) < 0.25
    sets = [set(np.flatnonzero(row)) for row in marked]
    lists = hit_lists(points, points, lambda i, j: bool(sets[i] & sets[j]), own=range(50), unit=False)
    able = [hits for hits in lists if any(hits)]
    expected = np.mean([average_precision(hits, sum(hits)) / sum(hits) for hits in able])

    def share_a_label(queries, references):
        return (marked[queries].astype(int) @ marked[references].T.astype(int)) > 0

    by_sets = evaluate(points, sets, ["map@r"], normalise=False)
    assert by_sets["map@r"] == pytest.approx(expected)
    assert evaluate(points, marked, ["map@r"], normalise=False) == by_sets
    assert evaluate(points, metrics=["map@r"], relevance=share_a_label, normalise=False) == by_sets


@pytest.mark.parametrize("d", [1, 3, 4096])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_any_width_and_any_type(d, dtype):
    # Two opposite directions, two classes: every other member of a class is at distance 0.
    points = np.repeat(np.array([[1], [-1]]), d, axis=1)[np.arange(20) % 2].astype(dtype)
    assert evaluate(points, np.arange(20) % 2, ["recall@1", "map@r"]) == {"recall@1": 1.0, "map@r": 1.0}


def test_one_class_only_and_k_beyond_the_gallery():
    embeddings, _ = gaussian(30, 2, 4)
    scores = evaluate(embeddings, np.zeros(30, int), ["recall@1", "map@r", "map", "recall@500", "precision@500", "nmi"])
    assert scores.pop("precision@500") == pytest.approx(29 / 500)
    assert set(scores.values()) == {1.0}


def test_a_memory_mapped_file_is_streamed(tmp_path):
    embeddings, labels = gaussian(1300, 60, 16)
    np.save(tmp_path / "embeddings.npy", embeddings)
    mapped = np.load(tmp_path / "embeddings.npy", mmap_mode="r")
    assert evaluate(mapped, labels) == evaluate(embeddings, labels)
    rows = np.arange(0, 1300, 20)
    assert evaluate(mapped, labels, query_rows=rows) == evaluate(embeddings, labels, query_rows=rows)


def test_details_add_up():
    embeddings, labels = gaussian(300, 40, 6)
    labels[0] = 999
    words = np.array([f"class {label}" for label in labels])
    detail = evaluate_in_detail(EmbeddingView(embeddings, words), ["recall@1", "nmi"])
    values = detail.per_query["recall@1"]
    assert not detail.is_counted[0]
    assert detail.scores["recall@1"] == pytest.approx(values[detail.is_counted].mean())
    assert detail.class_names.tolist() == sorted(set(words))
    last = detail.class_names.tolist().index("class 999")
    assert np.isnan(detail.per_class["recall@1"][last])
    third = detail.class_names[3]
    assert detail.per_class["recall@1"][3] == pytest.approx(values[words == third].mean())
    by_class = evaluate(embeddings, words, ["recall@1"], average="classes")
    assert by_class["recall@1"] == pytest.approx(np.nanmean(detail.per_class["recall@1"]))
    counted = [int(((words == name) & detail.is_counted).sum()) for name in detail.class_names]
    assert detail.class_sizes.tolist() == counted
    kept = {"is_counted", "class_names", "class_sizes", "per_query/recall@1", "per_class/recall@1"}
    assert set(detail.arrays()) == kept


def test_cosine_ranks_raw_vectors_by_angle():
    points = np.array([[1.0, 0.0], [9.0, 0.1], [0.0, 1.0], [0.9, 1.0]])
    labels = np.array([0, 0, 1, 1])
    assert evaluate(points, labels, ["recall@1"], normalise=False)["recall@1"] == 0.75
    assert evaluate(points, labels, ["recall@1"], normalise=False, distance="cosine")["recall@1"] == 1.0


ROWS = np.ones((3, 2))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: evaluate(np.empty((0, 4)), np.empty(0, int)), "embeddings are empty: there is no row to evaluate"),
        (lambda: evaluate(np.array([[1.0], [np.nan], [2.0], [np.inf]]), np.zeros(4, int)), "beyond 1e150): rows 1, 3"),
        (lambda: evaluate(np.ones(4), np.zeros(4, int)), "embeddings must be a matrix (n, d); got shape (4,)"),
        (lambda: evaluate(ROWS, np.zeros(2, int)), "labels: one value per row; got shape (2,) for 3 rows"),
        (lambda: evaluate(ROWS, [0, 0, 1], references=ROWS), "references need reference_labels"),
        (lambda: evaluate(ROWS, [0, 0, 1], None, np.ones((2, 3)), [0, 1]), "2 dimensions but references have 3"),
        (lambda: evaluate(ROWS, [0, 1, 2]), "no query has anything to find: every class has a single image, or all"),
        (lambda: evaluate(ROWS, [0, 0, 1], "nmi"), "metrics must be a list of names; got the single word 'nmi'"),
        (lambda: evaluate(ROWS, [{0}, {0}, {1}], ["nmi"]), "this needs one label per row; got sets of labels or none"),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)


CLUSTERED = ["nmi", "ami", "f1", "purity"]


def test_several_clusterings_are_averaged_and_the_first_is_that_of_one_seed():
    rows, labels = gaussian(200, 9, 8)
    alone = [evaluate(rows, labels, CLUSTERED, seed=1234 + i) for i in range(4)]
    joined = evaluate(rows, labels, CLUSTERED, clustering_seeds=4)
    for metric in CLUSTERED:
        assert len({scores[metric] for scores in alone}) > 1
        assert joined[metric] == pytest.approx(np.mean([scores[metric] for scores in alone]), abs=1e-15)
    assert evaluate(rows, labels, CLUSTERED, clustering_seeds=1) == alone[0]


class OutsideMetric(RankingMetric):
    argument = "k"

    def __init__(self, *, k=3):
        self.k = k

    def per_query(self, ranking):
        return ranking.first * 0


@pytest.mark.parametrize(
    ("word", "kind", "settings"),
    [
        ("recall@5", RecallMetric, {"k": 5}),
        ("R@10", RecallMetric, {"k": 10}),
        ("recall_at_4", RecallMetric, {"k": 4}),
        ("map", MapMetric, {"limit": None, "divisor": "relevant"}),
        ("mAP@1000", MapMetric, {"limit": 1000, "divisor": "class_size"}),
        ("map@r", MapAtRMetric, {}),
        ("ndcg@10", NdcgMetric, {"k": 10}),
        ("fnmr@fmr=0.01", FnmrMetric, {"fmr": 0.01}),
        ("tests.evaluation.test_metric_scores:OutsideMetric@7", OutsideMetric, {"k": 7}),
        ("tests.evaluation.test_metric_scores:OutsideMetric", OutsideMetric, {"k": 3}),
    ],
)
def test_words(word, kind, settings):
    metric = metric_named(word)
    assert type(metric).__name__ == kind.__name__
    assert {name: getattr(metric, name) for name in settings} == settings


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("recal@5", "no metric 'recal@5'. Did you mean 'recall@5'? `fairground list metrics` shows them all."),
        ("zzz", "no metric 'zzz'. `fairground list metrics` shows them all."),
        ("nmi@3", "metric 'nmi@3': nmi takes nothing after @; got '3'"),
        ("recall@many", "metric 'recall@many': 'many' is not a number"),
        ("recall@0", "recall.k must be a whole number from 1; got 0"),
        ("pathlib:Path", "'pathlib:Path' is not a metric: derive it from RankingMetric, ClusteringMetric"),
    ],
)
def test_unknown_names_are_refused(word, sentence):
    with pytest.raises(InputError) as caught:
        metric_named(word)
    assert sentence in str(caught.value)


def test_a_file_scores_as_its_arrays(tmp_path):
    draw = np.random.default_rng(0)
    embeddings, labels = draw.normal(size=(80, 5)), draw.integers(9, size=80)
    np.savez(tmp_path / "one.npz", embeddings=embeddings, labels=labels, something_else=np.arange(3))
    assert score_file_in_detail(tmp_path / "one.npz", ["map@r", "nmi"]).scores == evaluate(
        embeddings, labels, ["map@r", "nmi"]
    )
    words = np.array([f"class {label}" for label in labels])
    np.savez_compressed(tmp_path / "two.npz", embeddings=embeddings, labels=words, groups=np.arange(80) % 4)
    assert score_file_in_detail(str(tmp_path / "two.npz")).scores == evaluate(
        embeddings, labels, groups=np.arange(80) % 4
    )
    gallery = {"references": embeddings[30:], "reference_labels": labels[30:]}
    np.savez(tmp_path / "both.npz", embeddings=embeddings[:30], labels=labels[:30], **gallery)
    assert score_file_in_detail(tmp_path / "both.npz").scores == evaluate(
        embeddings[:30], labels[:30], None, *gallery.values()
    )


def test_files_that_cannot_be_scored_are_refused(tmp_path):
    path = tmp_path / "file.npz"

    def refused(**arrays):
        np.savez(path, **arrays)
        with pytest.raises(DataError) as caught:
            score_file_in_detail(path)
        return str(caught.value).replace(str(path), "FILE")

    assert refused(embedings=np.eye(2), labels=np.arange(2)) == (
        "FILE has no array 'embeddings'; it has embedings, labels. Did you mean 'embedings'?"
    )
    objects = np.array([{"a": 1}, None], dtype=object)
    assert refused(embeddings=np.eye(2), labels=objects).endswith("it holds Python objects; save numbers or text")
    rows = np.eye(3)
    rows[1, 1] = np.nan
    assert "rows 1" in refused(embeddings=rows, labels=np.zeros(3, int))
    with pytest.raises(DataError, match="no such file"):
        score_file_in_detail(tmp_path / "none.npz")
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=r"is not an \.npz file"):
        score_file_in_detail(path)


def test_concatenated_and_separated():
    draw = np.random.default_rng(0)
    labels = draw.integers(10, size=120)
    models = [draw.normal(size=(10, 6))[labels] + draw.normal(size=(120, 6)) for _ in range(4)]
    found = evaluate_ensemble(models, labels, ["recall@1", "map@r"])
    joined = np.concatenate([model / np.linalg.norm(model, axis=1, keepdims=True) for model in models], axis=1)
    assert found.concatenated == pytest.approx(evaluate(joined, labels, ["recall@1", "map@r"]))
    each = [evaluate(model, labels, ["recall@1", "map@r"]) for model in models]
    assert list(found.each) == each
    assert found.separated["map@r"] == pytest.approx(np.mean([scores["map@r"] for scores in each]))
    assert found.concatenated["map@r"] > found.separated["map@r"]


def test_the_longest_model_does_not_outweigh_the_others():
    short, long = np.array([[1.0, 0.0]]), np.array([[30.0, 40.0]])
    assert concatenate([short, long]).tolist() == [[1.0, 0.0, 0.6, 0.8]]
    assert concatenate([short, long], normalise=False).tolist() == [[1.0, 0.0, 30.0, 40.0]]
    assert concatenate([torch.tensor(short), long]).tolist() == [[1.0, 0.0, 0.6, 0.8]]


def test_refusals_of_an_ensemble():
    with pytest.raises(DataError, match=r"all models must embed the same images; got \[2, 3\] rows"):
        concatenate([np.eye(2), np.eye(3)])
    with pytest.raises(DataError, match="an ensemble needs one model at least"):
        concatenate([])
