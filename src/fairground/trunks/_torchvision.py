"""Import torchvision where its compiled half does not fit torch: all that timm needs of it is written in Python.

The compiled operators of a torchvision built for another torch cannot be loaded, and its Python half then stumbles over
`torchvision::nms`, which it wants to describe, not to call. Defining that operator and its sibling by name is enough.
"""

import importlib
import sys

import torch

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def import_torchvision() -> None:
    """Import torchvision as it is, or, only where `torchvision::nms` is what it lacks, with that name defined."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        torch.library.define("torchvision::nms", _SCHEMA)
        torch.library.define("torchvision::qnms", _SCHEMA)
        importlib.import_module("torchvision")
