"""`fairground score FILE.npz`: the metrics of anyone's embeddings."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from fairground.cli.options import AsJson


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
    as_json: AsJson = False,
) -> None:
    """Measure embeddings from anywhere: exact, query excluded by index, bounded memory.

    Example: fairground score my_embeddings.npz --metrics recall@1,recall@10,map@r
    """
    from fairground.evaluation.score import score_file

    asked = [name.strip() for name in metrics.split(",") if name.strip()] if metrics else None
    scores = score_file(file, metrics=asked, distance=distance, normalise=normalise, lone=lone)
    if as_json:
        print(json.dumps(scores))
        return
    width = max(len(name) for name in scores)
    for name, value in scores.items():
        print(f"{name:<{width}}  {value:.6f}")
