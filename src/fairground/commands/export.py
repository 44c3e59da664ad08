"""`fairground export RUN -o FOLDER` writes a trained model."""

import json
from pathlib import Path
from typing import Annotated

from fairground import deploy
from fairground.commands import HOME, MODEL_HELP, Answer, Device, Home


def export(
    model: Annotated[str, "RUN", MODEL_HELP],
    out: Annotated[Path, "--output", "-o", "The folder to write."],
    onnx: Annotated[bool, "Also write model.onnx, for any batch size, checked against torch."] = False,
    home: Home = HOME,
    device: Device = "auto",
) -> Answer:
    """Write a run's selected model with its preprocessing, thresholds, scores with intervals, and a model card.

    Weights are safetensors and everything else is text: no file of the folder can run anything.

    Example: fairground export 3f2a -o my_model --onnx
    """
    metadata = deploy.write_model(deploy.open_model(model, home=home, device=device), out, onnx=onnx)
    numbers = f"{metadata.trunk.name} to {metadata.embedding_dim} numbers"
    found = [found.sentence() for found in metadata.thresholds] or [f"no threshold: {metadata.why_no_threshold()}"]
    lines = [f"wrote {out}: {numbers}, {len(metadata.classes)} classes seen", *(f"  {sentence}" for sentence in found)]
    if metadata.onnx is not None:
        shape, largest = " x ".join(map(str, metadata.onnx.shape)), metadata.onnx.largest_difference
        lines.append(f"  model.onnx takes n x {shape} and differs from torch by {largest:.1e} at most")
    return Answer({"folder": str(out), **json.loads(metadata.to_json())}, lines)
