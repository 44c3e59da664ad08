"""Use a model that `fairground export RUN -o my_model --onnx` wrote, with numpy and onnxruntime alone.

python examples/use_exported_model.py my_model one.png another.png
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from PIL import Image


def inputs_of(path: Path, model: dict[str, Any]) -> np.ndarray:
    """Return what the network takes of a picture (c, h, w): the middle of photographs, small images whole."""
    takes, shorter_side = model["onnx"], model["transform"].get("shorter_side")
    channels, height, width = takes["shape"]
    picture = Image.open(path).convert("L" if channels == 1 else "RGB")
    if shorter_side:
        size = [shorter_side * side // min(picture.size) for side in picture.size]
        left, top = round((size[0] - width) / 2), round((size[1] - height) / 2)
        picture = picture.resize(size, Image.Resampling.BILINEAR).crop((left, top, left + width, top + height))
    else:
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(picture, np.float32).reshape(height, width, channels)
    pixels = pixels[:, :, :: -1 if takes["order"] == "bgr" else 1]
    return np.moveaxis(pixels * takes["multiply"] + takes["add"], 2, 0).astype(np.float32)


def main(folder: Path, pictures: list[Path]) -> np.ndarray:
    """Return the embeddings (n, d) of some pictures."""
    model = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    rows = [inputs_of(path, model) for path in pictures]
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    (embeddings,) = session.run(["embeddings"], {"inputs": np.stack(rows)})
    print("similarities:", embeddings @ embeddings.T)
    return embeddings


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
