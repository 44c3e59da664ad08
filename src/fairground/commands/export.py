"""`fairground export RUN -o FOLDER`: a trained model as a folder that can be handed on."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home
from fairground.commands.terminal import print_fitted

MODEL_HELP = "A run's name (or enough of its hash), or a folder that `fairground export` wrote."


def export(
    model: Annotated[str, typer.Argument(metavar="RUN", help=MODEL_HELP)],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Also write model.onnx, for any batch size, checked against torch.")
    ] = False,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Write a run's selected model with its preprocessing, thresholds, scores with intervals, and a model card.

    Weights are safetensors and everything else is text: no file of the folder can run anything.

    Example: fairground export 3f2a -o my_model --onnx
    """
    from fairground.deploy.model_folder import open_model, write_model

    metadata = write_model(open_model(model, home=home), out, onnx=onnx)
    if as_json:
        print(json.dumps({"folder": str(out), **json.loads(metadata.to_json())}))
        return
    print_fitted(
        f"wrote {out}: {metadata.trunk.name} to {metadata.embedding_dim} numbers, {len(metadata.classes)} classes seen"
    )
    for found in metadata.thresholds:
        print_fitted(f"  {found.sentence()}")
    if not metadata.thresholds:
        print_fitted(f"  no threshold: {metadata.why_no_threshold()}")
    if metadata.onnx is not None:
        shape = " x ".join(str(length) for length in metadata.onnx.shape)
        print_fitted(
            f"  model.onnx takes n x {shape} and differs from torch by {metadata.onnx.largest_difference:.1e} at most"
        )
