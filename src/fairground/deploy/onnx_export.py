"""The network of a model as an ONNX file, written only if its embeddings agree with those of torch."""

import contextlib
import io
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairground.deploy import Embedder, InputError, OnnxInput, StoreError, UsableModel, require, resized_images
from fairground.loading import ImagesInMemory, write_atomically

ONNX = "model.onnx"
#: how far an embedding in ONNX may be from torch's
LARGEST_DIFFERENCE = 1e-4
#: batch sizes of the comparison with torch; the file takes any
_BATCHES = (1, 2, 5)


def write_onnx(model: UsableModel, path: Path) -> OnnxInput:
    """Write the network, from the transform's output to finished embeddings, if it agrees with torch."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"writing ONNX needs the package {error.name}, which is not installed: pip install 'fairground[export]'"
        ) from error
    embedder = Embedder(model.network, normalise=model.metadata.normalise).eval().cpu()
    inputs = example_inputs(model, max(_BATCHES))
    data = _exported(embedder, inputs)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    worst = 0.0
    with torch.no_grad():
        for n in _BATCHES:
            (found,) = session.run(["embeddings"], {"inputs": inputs[:n].numpy()})
            worst = max(worst, float(np.abs(found - embedder(inputs[:n]).numpy()).max()))
    refusal = f"the ONNX file differs from torch by {worst:.2g}, more than {LARGEST_DIFFERENCE:.0e}: it was not written"
    require(worst < LARGEST_DIFFERENCE, refusal, StoreError)
    model.network.to(model.device)
    write_atomically(path, data)
    scaling: Any = _scaling(model) if model.metadata.is_picture else {}
    return OnnxInput(shape=tuple(inputs.shape[1:]), largest_difference=worst, **scaling)


def example_inputs(model: UsableModel, n: int) -> torch.Tensor:
    """Return the transform's output for random pictures, or random features: (n, ...) on the CPU."""
    metadata = model.metadata
    generator = torch.Generator().manual_seed(0)
    if not metadata.is_picture:
        return torch.randn(n, metadata.channels, generator=generator)
    height, width = metadata.size or (320, 320)
    pixels = torch.randint(0, 256, (n, metadata.channels, height, width), generator=generator, dtype=torch.uint8)
    images = resized_images(ImagesInMemory(pixels.numpy()), metadata)
    return model.transform.evaluate(images, np.arange(n), torch.device("cpu")).contiguous()


def _scaling(model: UsableModel) -> dict[str, Any]:
    """Return what the transform does to pixel values, found with black, white and red pictures."""
    channels = model.metadata.channels
    height, width = model.metadata.size or (320, 320)
    plain = np.zeros((3, channels, height, width), np.uint8)
    plain[1] = 255
    plain[2, 0] = 255
    seen = model.transform.evaluate(ImagesInMemory(plain), np.arange(3), torch.device("cpu"))[:, :, 0, 0]
    multiply = tuple(((seen[1] - seen[0]) / 255).tolist())
    is_bgr = channels == 3 and bool(seen[2, 0] == seen[0, 0])
    return {"multiply": multiply, "add": tuple(seen[0].tolist()), "order": "bgr" if is_bgr else "rgb"}


def _exported(embedder: Embedder, inputs: torch.Tensor) -> bytes:
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        # The exporter prints to stdout, which belongs to the caller's own output.
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                embedder,
                (inputs,),
                input_names=["inputs"],
                output_names=["embeddings"],
                dynamic_shapes=({0: torch.export.Dim("n")},),
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # the exporter raises many kinds
        raise InputError(f"torch cannot write this network as ONNX: {str(error)[:300]}") from error
    finally:
        logger.setLevel(before)
    assert program is not None
    serialised: bytes = program.model_proto.SerializeToString()
    return serialised
