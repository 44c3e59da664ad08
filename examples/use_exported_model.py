"""Use a model that `fairground export RUN -o my_model --onnx` wrote, with numpy and onnxruntime alone.

python examples/use_exported_model.py my_model one.png another.png
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image


def main(folder: Path, pictures: list[Path]) -> np.ndarray:
    """Return the embeddings (n, d) of some pictures."""
    takes = json.loads((folder / "model.json").read_text(encoding="utf-8"))["onnx"]
    channels, height, width = takes["shape"]
    rows = []
    for path in pictures:
        picture = Image.open(path).convert("L" if channels == 1 else "RGB")
        pixels = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR), np.float32)
        pixels = pixels.reshape(height, width, channels)[:, :, :: -1 if takes["order"] == "bgr" else 1]
        rows.append(np.moveaxis(pixels * takes["multiply"] + takes["add"], 2, 0))
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    (embeddings,) = session.run(["embeddings"], {"inputs": np.stack(rows).astype(np.float32)})
    print("similarities:", embeddings @ embeddings.T)
    return embeddings


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
