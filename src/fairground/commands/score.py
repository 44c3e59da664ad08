"""`fairground score FILE.npz`: the metrics of anyone's embeddings."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from fairground.commands.options import AsJson


def score(
    file: Annotated[Path, typer.Argument(help="An .npz with arrays `embeddings` (n, d) and `labels` (n,).")],
    metrics: Annotated[
        str | None, typer.Option("--metrics", "-m", help="Which metrics, with commas: recall@1,map@r,nmi")
    ] = None,
    distance: Annotated[Literal["euclidean", "cosine"], typer.Option("--distance", help="What is near.")] = "euclidean",
    normalise: Annotated[bool, typer.Option("--normalise/--raw", help="Scale rows to length one first.")] = True,
    lone: Annotated[
        Literal["drop", "zero"], typer.Option("--lone", help="A query whose class has no other image: left out, or 0.")
    ] = "drop",
    average: Annotated[
        Literal["queries", "classes"], typer.Option("--average", help="The mean over all queries, or of class means.")
    ] = "queries",
    group_rule: Annotated[
        Literal["same_group", "same_class_and_group"],
        typer.Option("--group-rule", help="Which pairs of one of the file's `groups` are left out."),
    ] = "same_group",
    interval: Annotated[
        int, typer.Option("--interval", min=0, help="Bootstrap draws over classes for 95 % intervals, such as 1000.")
    ] = 0,
    details: Annotated[
        Path | None, typer.Option("--details", help="Write what every query and class scored to this .npz file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure embeddings from anywhere: exact, query excluded by index, bounded memory.

    The file may also hold `references` and `reference_labels` (a gallery to search in), `groups` and `reference_groups`
    (cameras, sequences).

    Example: fairground score my_embeddings.npz --metrics recall@1,recall@10,map@r --interval 1000
    """
    from fairground.errors import require
    from fairground.evaluation.bootstrap import Bootstrap
    from fairground.evaluation.metric_scores import score_file_in_detail
    from fairground.records.arrays import write_arrays
    from fairground.reporting.headings import unit
    from fairground.spec.measurement_names import is_share

    names = None if metrics is None else [name.strip() for name in metrics.split(",") if name.strip()]
    require(names != [], "--metrics names none; write some with commas, like recall@1,map@r")
    found = score_file_in_detail(
        file,
        names,
        distance=distance,
        normalise=normalise,
        lone=lone,
        average=average,
        group_rule=group_rule,
        bootstrap=Bootstrap(n_draws=interval) if interval else None,
    )
    if details is not None:
        write_arrays(details, found.arrays())
    if as_json:
        intervals = {name: [spread.low, spread.high] for name, spread in found.intervals.items()}
        print(json.dumps({**found.scores, "intervals": intervals} if intervals else dict(found.scores)))
        return
    width = max(len(name) for name in found.scores)
    for name, value in found.scores.items():
        spread, by = found.intervals.get(name), 100 if is_share(name) else 1
        between = f"  [{by * spread.low:.4f}, {by * spread.high:.4f}]" if spread else ""
        print(f"{name:<{width}}  {by * value:.4f}{unit(name)}{between}")
