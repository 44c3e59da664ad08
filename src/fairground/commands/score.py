"""`fairground score`: the metrics of embeddings from anywhere."""

from pathlib import Path
from typing import Annotated, Literal

from fairground import evaluation, records, reporting, spec
from fairground.commands import Answer, Average, Metrics, Rerank, require, split_names


def score(
    file: Annotated[Path, "FILE", "An .npz with arrays `embeddings` (n, d) and `labels` (n,)."],
    metrics: Metrics = None,
    distance: Annotated[
        Literal["euclidean", "cosine", "poincare"], "Distance; poincare goes with --raw."
    ] = "euclidean",
    normalise: Annotated[bool, "--normalise/--raw", "L2-normalise embeddings first."] = True,
    lone: Annotated[Literal["drop", "zero"], "Queries without a match: leave them out, or score 0."] = "drop",
    average: Average = "queries",
    group_rule: Annotated[
        Literal["same_group", "same_class_and_group"], "Pairs within one of the file's `groups` to leave out."
    ] = "same_group",
    relevance: Annotated[
        Literal["label", "any", "same", "query_share", "jaccard", "levels"],
        "What is relevant: one label, labels like red|round, or levels.",
    ] = "label",
    rerank: Rerank = "none",
    interval: Annotated[int, "Bootstrap draws over classes for 95 % intervals, e.g. 1000.", {"min": 0}] = 0,
    details: Annotated[Path | None, "Write the score of every query and class to this .npz file."] = None,
) -> Answer:
    """Measure embeddings from anywhere: exact, query excluded by index, bounded memory.

    The file may also hold `references` and `reference_labels` (a gallery to search in), `groups` and `reference_groups`
    (cameras, sequences), `super_labels` and `reference_super_labels` (n,) or (n, k) for --relevance levels.

    Example: fairground score my_embeddings.npz --metrics recall@1,recall@10,map@r --interval 1000
    """
    names = split_names(metrics)
    require(names != [], "--metrics is empty; give some, separated by commas, like recall@1,map@r")
    found = evaluation.score_file_in_detail(
        file,
        names,
        distance=distance,
        normalise=normalise,
        lone=lone,
        average=average,
        group_rule=group_rule,
        relevance=None if relevance == "label" else relevance,
        rerank=rerank,
        bootstrap=evaluation.Bootstrap(n_draws=interval) if interval else None,
    )
    if details is not None:
        records.write_arrays(details, found.arrays())
    lines, width = [], max(len(name) for name in found.scores)
    for name, value in found.scores.items():
        spread, by = found.intervals.get(name), 100 if spec.is_share(name) else 1
        between = f"  [{by * spread.low:.4f}, {by * spread.high:.4f}]" if spread else ""
        lines.append(f"{name:<{width}}  {by * value:.4f}{reporting.unit(name)}{between}")
    intervals = {name: [spread.low, spread.high] for name, spread in found.intervals.items()}
    return Answer({**found.scores, "intervals": intervals} if intervals else dict(found.scores), lines)
