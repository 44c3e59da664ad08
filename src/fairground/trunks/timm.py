"""Any network of the timm package by its name, without its classifier.

Formula
    That of the network; the features are what it hands to its classifier, pooled. `pooling=avg` leaves the network its
    own pooling; the others pool its last maps.

Paper
    Wightman, "PyTorch Image Models", 2019.

Departures from the paper
    Nothing is downloaded: weights come from a local file with timm's names. The whole network is one stage, so that
    samples can be mixed at the input only.
"""

import importlib
import sys
from collections import OrderedDict
from typing import Any

import torch

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling, Preprocessing, require
from fairground.errors import InputError
from fairground.spec.catalogue import nearest
from fairground.trunks._pretrained_weights import load_weights


class TimmTrunk(PhotoTrunk):
    """`model` is timm's name, such as resnet50.a1_in1k; `weights` none or a file; a pickle needs `weights_sha256`."""

    def __init__(
        self,
        *,
        channels: int,
        model: str,
        weights: str | None = None,
        weights_sha256: str = "",
        pooling: Pooling = "avg",
    ) -> None:
        super().__init__(channels, pooling)
        timm = _timm()
        # A name such as hf-hub:someone/something would be fetched from there.
        is_known = ":" not in model and "/" not in model and timm.is_model(model)
        known = timm.list_models()
        require(is_known, f"timm.model must be one of timm's {len(known)} names; got '{model}'.{nearest(model, known)}")
        try:
            own = {} if pooling == "avg" else {"global_pool": ""}
            network = timm.create_model(model, pretrained=False, num_classes=0, **own)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"timm.model: timm cannot make '{model}': {error}") from error
        facts = network.pretrained_cfg
        self.stages = torch.nn.ModuleList([torch.nn.Sequential(OrderedDict(colour=InColour(), network=network))])
        self.preprocessing = Preprocessing(mean=tuple(facts["mean"]), deviation=tuple(facts["std"]))
        self.n_features = _width(network, facts["input_size"], pooling)
        classifiers = facts.get("classifier") or ()
        classifiers = (classifiers,) if isinstance(classifiers, str) else tuple(classifiers)
        self.weights_fingerprint = load_weights(
            self,
            weights,
            weights_sha256,
            dropped=tuple(f"{name}." for name in classifiers),
            rename=lambda name: name.removeprefix("stages.0.network."),
        )


def import_torchvision() -> None:
    """Import torchvision, also where its compiled half does not fit torch: timm needs only what is written in Python.

    That half cannot be loaded then, and the Python half stumbles over `torchvision::nms`, which it wants to describe,
    not to call. Defining that operator and its sibling by name is enough.
    """
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for operator in ("nms", "qnms"):
            schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            torch.library.define(f"torchvision::{operator}", schema)
        importlib.import_module("torchvision")


def _timm() -> Any:
    try:
        import_torchvision()
        import timm
    except ImportError as error:
        raise InputError(
            f"trunk=timm needs the package {error.name or 'timm'}, which is not installed: "
            "pip install 'fairground[timm]'"
        ) from error
    return timm


def _width(network: torch.nn.Module, size: tuple[int, int, int], pooling: Pooling) -> int:
    """Return the width of what comes out: timm's own `num_features` is another number for some networks."""
    was_training = network.training
    with torch.no_grad():
        features = network.eval()(torch.zeros(1, *size))
    network.train(was_training)
    shape = tuple(features.shape)
    if pooling == "avg":
        require(len(shape) == 2, f"timm.model gives features of shape {shape}, not one vector per image")
    else:
        is_map = len(shape) == 4 and shape[2] == shape[3]
        require(is_map, f"timm.pooling={pooling} needs maps (n, c, h, w); this network gives {shape}: set pooling=avg")
    return int(features.shape[1])
