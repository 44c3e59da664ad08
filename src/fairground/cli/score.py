"""`fairground score FILE.npz`: the metrics of anyone's embeddings."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fairground.cli.options import AsJson


def score(
    file: Annotated[Path, typer.Argument(help="An .npz with arrays `embeddings` (n, d) and `labels` (n,).")],
    metrics: Annotated[
        str | None, typer.Option("--metrics", "-m", help="Which metrics, with commas: recall@1,map@r,nmi")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure embeddings from anywhere: exact, query excluded by index, bounded memory.

    Example: fairground score my_embeddings.npz --metrics recall@1,recall@10,map@r
    """
    from fairground.evaluation.score import score_file

    asked = [name.strip() for name in metrics.split(",") if name.strip()] if metrics else None
    scores = score_file(file, metrics=asked)
    if as_json:
        print(json.dumps(scores))
        return
    width = max(len(name) for name in scores)
    for name, value in scores.items():
        print(f"{name:<{width}}  {value:.6f}")
