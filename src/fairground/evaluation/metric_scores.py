"""Embeddings and labels in, scores out: `evaluate` for the numbers, `evaluate_in_detail` for what is behind them.

`evaluate_ensemble` scores several models as one, `analyse` says what kind of space the embeddings form.
"""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict, Unpack, cast

import numpy as np

from fairground import contracts, evaluation
from fairground.contracts import (
    ClusteringMetric,
    ConsistencyMetric,
    Metric,
    OpenSetMetric,
    RankingMetric,
    VerificationMetric,
)
from fairground.evaluation import Distance, EmbeddingView, GroupRule, Reranking, checked_arrays
from fairground.evaluation.relevant_references import RelevanceFunction, RelevanceRule
from fairground.records.arrays import array_names, read_arrays
from fairground.retrieval import Poincare, QueryExpansion, normalise_rows
from fairground.spec import DataError, InputError, find, list_room, metric_names, nearest, reading, require

DEFAULT_METRICS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")
Average = Literal["queries", "classes"]
#: queries that have nothing to find: left out of the means, or counted as 0
Lone = Literal["drop", "zero"]
#: no list of neighbours is longer
_MOST = 10**9
#: the arrays of a file of embeddings
REQUIRED = ("embeddings", "labels")
OPTIONAL = ("references", "reference_labels", "groups", "reference_groups", "super_labels", "reference_super_labels")


class ViewSettings(TypedDict, total=False):
    """The settings of an `EmbeddingView`, which explains them."""

    distance: Distance | Poincare
    normalise: bool
    query_rows: np.ndarray | None
    groups: np.ndarray | None
    reference_groups: np.ndarray | None
    group_rule: GroupRule
    relevance: RelevanceFunction | RelevanceRule | None
    n_clusters: int | None
    seed: int
    clustering_seeds: int
    threads: int | None
    block: int | None


class Evaluation(NamedTuple):
    """Scores by the names they were asked by, and what is behind them.

    `per_query` has each ranking metric's value of every query, in the order of the queries; `is_counted` marks the
    queries that entered the means (with `lone="drop"` those with something to find). `per_class` has the mean over
    each class's counted queries, in the order of `class_names`, NaN where a class has none. `class_sizes` is how many
    those are. `intervals` is empty unless a bootstrap was asked for.
    """

    scores: Mapping[str, float]
    per_query: Mapping[str, np.ndarray]
    per_class: Mapping[str, np.ndarray]
    class_names: np.ndarray
    class_sizes: np.ndarray
    is_counted: np.ndarray
    intervals: "Mapping[str, evaluation.BootstrapInterval]"

    def arrays(self) -> dict[str, np.ndarray]:
        kept = {"is_counted": self.is_counted, "class_names": self.class_names, "class_sizes": self.class_sizes}
        kept |= {f"per_query/{name}": values for name, values in self.per_query.items()}
        return kept | {f"per_class/{name}": values for name, values in self.per_class.items()}


def evaluate(
    embeddings: checked_arrays.Embeddings,
    labels: checked_arrays.Labels | None = None,
    metrics: Sequence[str] | None = None,
    references: checked_arrays.Embeddings | None = None,
    reference_labels: checked_arrays.Labels | None = None,
    *,
    lone: Lone = "drop",
    average: Average = "queries",
    rerank: Reranking = "none",
    **settings: Unpack[ViewSettings],
) -> dict[str, float]:
    """Return the score of every metric asked for, under the name it was asked by.

    `rerank` adds those of re-ranked lists, as `map@r+k_reciprocal`. `settings` are those of `EmbeddingView`: distance,
    normalise, query_rows, groups, relevance and so on.
    """
    view = EmbeddingView(embeddings, labels, references, reference_labels, **settings)
    return dict(evaluate_in_detail(view, metrics, lone=lone, average=average, rerank=rerank).scores)


def score_file_in_detail(
    path: Path | str,
    metrics: Sequence[str] | None = None,
    *,
    lone: Lone = "drop",
    average: Average = "queries",
    rerank: Reranking = "none",
    bootstrap: "evaluation.Bootstrap | None" = None,
    **settings: Unpack[ViewSettings],
) -> Evaluation:
    """Return the scores of the arrays in an .npz file, and what is behind them.

    The file has `embeddings` (n, d) and `labels` (n,); `references`, `reference_labels`, `groups` and
    `reference_groups` are used if they are there. With a rule of `relevance` on sets, labels are text like `red|round`
    or marks (n, C); with levels, they are (n, L), or wider ones are in `super_labels` (n,) or (n, k). Arrays of
    Python objects are refused, so nothing in the file is ever executed.
    """
    path = Path(path)
    with reading(path, error=DataError) as file:
        require(file.read(2) == b"PK", f"{path} is not an .npz file (np.savez makes one)", DataError)
    present = array_names(path)
    for name in REQUIRED:
        listed = ", ".join(present) or "nothing"
        require(name in present, f"{path} has no array '{name}'; it has {listed}.{nearest(name, present)}", DataError)
    arrays = read_arrays(path, [*REQUIRED, *(name for name in OPTIONAL if name in present)])
    rule = settings.get("relevance")
    labels, theirs = (_labels_of(arrays, side, rule) for side in ("", "reference_"))
    settings["groups"], settings["reference_groups"] = arrays.get("groups"), arrays.get("reference_groups")
    view = EmbeddingView(arrays["embeddings"], labels, arrays.get("references"), theirs, **settings)
    return evaluate_in_detail(view, metrics, lone=lone, average=average, rerank=rerank, bootstrap=bootstrap)


def _labels_of(arrays: Mapping[str, np.ndarray], side: str, rule: object) -> checked_arrays.Labels | None:
    """Return the labels of queries or of references in a file, as a rule of relevance takes them."""
    labels, wider = arrays.get(f"{side}labels"), arrays.get(f"{side}super_labels")
    if labels is None or rule is None or labels.ndim != 1:
        return labels
    if rule != "levels":
        require(labels.dtype.kind == "U", f"relevance={rule} needs {side}labels like red|round; got {labels.dtype}")
        return [frozenset(part.strip() for part in word.split("|") if part.strip()) for word in labels.tolist()]
    require(wider is not None, f"relevance=levels needs {side}super_labels, or {side}labels (n, L)", DataError)
    assert wider is not None
    is_right = wider.ndim in (1, 2) and len(wider) == len(labels)
    require(is_right, f"{side}super_labels must be ({len(labels)},) or (n, k); got shape {wider.shape}", DataError)
    return np.column_stack([labels.astype(str), wider.astype(str)])


def evaluate_in_detail(
    view: EmbeddingView,
    metrics: Sequence[str] | None = None,
    *,
    lone: Lone = "drop",
    average: Average = "queries",
    rerank: Reranking = "none",
    bootstrap: "evaluation.Bootstrap | None" = None,
) -> Evaluation:
    """Return scores and what is behind them; the view keeps what it has computed for the next call."""
    require(average in ("queries", "classes"), f"average must be 'queries' or 'classes'; got '{average}'")
    require(not isinstance(metrics, str), f"metrics must be a list of names; got the single word '{metrics}'")
    refusal = "average='classes' needs labels; got a relevance function alone"
    require(average == "queries" or view.query_labels is not None, refusal)
    chosen = {name: metric_named(name) for name in (DEFAULT_METRICS if metrics is None else metrics)}
    ways: dict[str, Reranking] = {way: way for way in metric_names.RERANKINGS}
    if rerank != "none":
        way = rerank if isinstance(rerank, str) else metric_names.RERANKINGS[isinstance(rerank, QueryExpansion)]
        require(way in ways, f"rerank must be none, {' or '.join(ways)}; got '{way}'")
        ways[way] = rerank
        plain = {name: metric for name, metric in chosen.items() if not metric_names.reranking_of(name)}
        again = {f"{name}+{way}": one for name, one in plain.items() if isinstance(one, RankingMetric)}
        require(bool(again), f"rerank={way} changes lists of neighbours, and no metric asked for looks at them")
        chosen |= again
    values = {name: np.zeros(view.n_queries) for name, metric in chosen.items() if isinstance(metric, RankingMetric)}
    is_counted = view.relevance.counted_queries(lone)
    why = "every class has a single image, or all its pairs are left out; give classes two images at least"
    require(not values or bool(is_counted.any()), f"no query has anything to find: {why}", DataError)
    ranked = {name: cast(RankingMetric, chosen[name]) for name in values}
    by_list: dict[tuple[str, EmbeddingView], list[str]] = {}
    for name, metric in ranked.items():
        source = view.graded if metric.is_graded else view
        by_list.setdefault((metric_names.reranking_of(name), source), []).append(name)
    for (way, source), names in by_list.items():
        for rows, ranking in (source.reranked(ways[way]) if way else source).rankings():
            for name in names:
                values[name][rows] = ranked[name].per_query(ranking)
    class_names, class_sizes, per_class = _class_means(view, values, is_counted)
    counted = per_class if average == "classes" else {name: found[is_counted] for name, found in values.items()}
    scores = {
        name: float(np.nanmean(counted[name])) if name in values else _score(metric, view)
        for name, metric in chosen.items()
    }
    intervals = {
        name: _interval(bootstrap, metric, view, values.get(name), is_counted, average)
        for name, metric in chosen.items()
        if bootstrap is not None
    }
    return Evaluation(
        scores=scores,
        per_query=values,
        per_class=per_class,
        class_names=class_names,
        class_sizes=class_sizes,
        is_counted=is_counted,
        intervals=intervals,
    )


def _class_means(
    view: EmbeddingView, values: Mapping[str, np.ndarray], is_counted: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return the labels, how many counted queries have each, and the means over them."""
    if view.query_labels is None:
        return np.empty(0), np.empty(0, np.int64), {}
    queries, labels, names = view.query_labels
    queries, labels = queries[is_counted[queries]], labels[is_counted[queries]]
    sizes = np.bincount(labels, minlength=len(names))
    means = {}
    for name, of_queries in values.items():
        total = np.bincount(labels, weights=of_queries[queries], minlength=len(names))
        means[name] = np.where(sizes > 0, total / np.maximum(sizes, 1), np.nan)
    return names, sizes, means


def _score(metric: Metric, view: EmbeddingView) -> float:
    if isinstance(metric, ClusteringMetric):
        return float(np.mean([metric.score(table) for table in view.contingencies]))
    if isinstance(metric, VerificationMetric):
        return metric.score(view.curve.verification)
    if isinstance(metric, ConsistencyMetric):
        return float(metric.per_class(view.pairs_by_class.shares).mean())
    assert isinstance(metric, OpenSetMetric)
    return metric.score(view.open_set)


def _interval(
    bootstrap: "evaluation.Bootstrap",
    metric: Metric,
    view: EmbeddingView,
    values: np.ndarray | None,
    is_counted: np.ndarray,
    average: Average,
) -> "evaluation.BootstrapInterval":
    if isinstance(metric, ClusteringMetric):
        return bootstrap.of_clustering(metric, view.contingencies)
    # Where rows have no class, each query is drawn by itself.
    units = np.arange(view.n_queries) if view.query_classes is None else view.query_classes
    if isinstance(metric, VerificationMetric):
        return bootstrap.of_verification(metric, view.curve, units)
    if isinstance(metric, ConsistencyMetric):
        # The mean curve of all classes stays as it is.
        of_classes = metric.per_class(view.pairs_by_class.shares)
        return bootstrap.of_mean(of_classes, np.arange(len(of_classes)))
    if isinstance(metric, OpenSetMetric):
        return bootstrap.of_open_set(metric, view.open_set, units)
    assert values is not None
    queries, is_macro = np.arange(view.n_queries), average == "classes"
    if is_macro and view.query_labels is not None:
        queries, units, _ = view.query_labels
    kept = is_counted[queries]
    return bootstrap.of_mean(values[queries[kept]], units[kept], over_classes=is_macro)


def metric_named(word: str) -> Metric:
    """Return the metric a name such as `recall@5` or `module:Class` means, or refuse it with the nearest right name."""
    if ":" in word:
        path, _, argument = metric_names.without_reranking(word).partition("@")
        kind = find("metrics", path)
        kinds = "RankingMetric, ClusteringMetric, VerificationMetric, OpenSetMetric or ConsistencyMetric"
        is_metric = inspect.isclass(kind) and issubclass(kind, Metric)
        require(is_metric, f"'{path}' is not a metric: derive it from {kinds}")
        shown, text = f"metric '{word}'", argument or None
    else:
        found = metric_names.declared_metric(word)
        if found is None:
            metric_names.refuse_unknown(word)
        kind, text = find("metrics", found.name), found.argument
        shown = f"metric '{word}': {metric_names.spelled(found.name)}"
    is_list = not metric_names.reranking_of(word) or issubclass(kind, RankingMetric)
    require(is_list, f"metric '{word}' cannot be re-ranked: it does not look at lists of neighbours")
    if text is None:
        return kind()
    require(kind.argument is not None, f"{shown} takes nothing after @; got '{text}'")
    text = text.removeprefix(f"{kind.argument}=")
    try:
        number = int(text) if text.isdecimal() else float(text)
    except ValueError as error:
        raise InputError(f"metric '{word}': '{text}' is not a number") from error
    require(number <= _MOST, f"metric '{word}': a number after @ is {_MOST:,} at most; got {text}")
    return kind(**{str(kind.argument): number})


class EnsembleScores(NamedTuple):
    """Scores of the joined models (`concatenated`), the mean over single models (`separated`), and `each` model's own.

    The two answer different questions, and a reality check reports both (Musgrave, Belongie and Lim, "A metric learning
    reality check", ECCV 2020, section 3.3).
    """

    concatenated: dict[str, float]
    separated: dict[str, float]
    each: tuple[dict[str, float], ...]


def evaluate_ensemble(
    models: Sequence[checked_arrays.Embeddings],
    labels: checked_arrays.Labels,
    metrics: Sequence[str] | None = None,
    *,
    lone: Lone = "drop",
    **settings: Unpack[ViewSettings],
) -> EnsembleScores:
    """Return concatenated and separated scores of several models' embeddings of the same images, in one order."""
    joined = concatenate(models, normalise=settings.get("normalise", True))
    each = tuple(evaluate(one, labels, metrics, lone=lone, **settings) for one in models)
    separated = {name: float(np.mean([scores[name] for scores in each])) for name in each[0]}
    together = evaluate(joined, labels, metrics, lone=lone, **settings)
    return EnsembleScores(concatenated=together, separated=separated, each=each)


def concatenate(models: Sequence[checked_arrays.Embeddings], *, normalise: bool = True) -> np.ndarray:
    """Return the models' embeddings side by side, each normalised first unless `normalise` is false."""
    require(len(models) > 0, "an ensemble needs one model at least", DataError)
    matrices = [checked_arrays.as_matrix(model, f"embeddings of model {k}") for k, model in enumerate(models)]
    sizes = sorted({len(matrix) for matrix in matrices})
    require(len(sizes) == 1, f"all models must embed the same images; got {sizes} rows", DataError)
    wide = [np.float64 if matrix.dtype == np.float64 else np.float32 for matrix in matrices]
    blocks = [np.array(matrix, dtype, order="C") for matrix, dtype in zip(matrices, wide, strict=True)]
    for block in blocks if normalise else ():
        normalise_rows(block)
    return np.concatenate(blocks, 1)


def analyse(
    embeddings: checked_arrays.Embeddings | EmbeddingView,
    labels: checked_arrays.Labels | None = None,
    analyses: "Sequence[str | contracts.Analysis] | None" = None,
    *,
    normalise: bool = True,
    threads: int | None = None,
) -> "dict[str, contracts.Findings]":
    """Return the findings of each analysis, all there are by default, under its name.

    Takes embeddings and labels, or a view that has computed something already. A name may carry options:
    `rho(drop_last=1)`.
    """
    if isinstance(embeddings, EmbeddingView):
        view = embeddings
    else:
        view = EmbeddingView(embeddings, labels, normalise=normalise, threads=threads)
    refusal = "analyse looks at one set of embeddings as a whole: no references, no query_rows"
    require(view.references is None and view.query_rows is None, refusal)
    found = {}
    for asked in list_room("analysis") if analyses is None else analyses:
        if isinstance(asked, str):
            name, options = metric_names.read_analysis(asked)
            analysis = find("analysis", name)(**options)
        else:
            name, analysis = type(asked).__name__, asked
        found[name] = analysis.measure(view)
    return found
