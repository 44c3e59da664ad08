"""Any network of the timm package by its name, without its classifier.

Formula
    That of the network; the features are what it hands to its classifier, pooled. `pooling=avg` leaves the network its
    own pooling; the others pool its last maps.

Paper
    Wightman, "PyTorch Image Models", 2019.

Departures from the paper
    Transformers, ConvNeXts, ResNets and their relatives run in up to four stages, so that `training.trainable=last:N`
    works; other networks are one stage. Stages are cut only where they give what the whole network gives.
"""

import copy
import importlib
import sys
from collections import OrderedDict
from typing import Any

import torch

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling, Preprocessing, require
from fairground.spec import InputError, nearest
from fairground.trunks._pretrained_weights import fingerprint_of, load_weights

#: the modules that end a network's features, in the order they run; the first chain that a network has is cut
CHAINS: tuple[tuple[str, ...], ...] = (
    ("layer1", "layer2", "layer3", "layer4"),
    ("blocks", "conv_head", "bn2"),
    ("blocks", "norm"),
    ("stages", "norm_pre"),
    ("layers", "norm"),
)
#: those of them that are rows of modules
ROWS = ("blocks", "stages", "layers")
#: what comes after the features
HEADS = ("global_pool", "attn_pool", "fc_norm", "head_drop", "head", "fc", "classifier")
N_STAGES = 4


class TimmTrunk(PhotoTrunk):
    """`model` is timm's name, such as vit_small_patch14_dinov2, or a hub's, hf-hub:organisation/network.

    `weights` is none, pretrained (as timm finds them: its cache or its hub) or a file; a pickle needs `weights_sha256`.
    `image_size` is the side of the images where the network's own should not do; 0 is the network's own.
    """

    def __init__(
        self,
        *,
        channels: int,
        model: str,
        weights: str | None = None,
        weights_sha256: str = "",
        pooling: Pooling = "avg",
        image_size: int = 0,
        drop_path: float = 0.0,
    ) -> None:
        super().__init__(channels, pooling)
        require(0 <= drop_path < 1, f"timm.drop_path must be in [0, 1); got {drop_path}")
        require(image_size >= 0, f"timm.image_size must be 0 (the network's own) or pixels; got {image_size}")
        timm, is_pretrained = _timm(), weights == "pretrained"
        if not model.startswith("hf-hub:"):
            known = timm.list_models()
            is_known = ":" not in model and "/" not in model and timm.is_model(model)
            names = f"one of timm's {len(known)} names, or hf-hub:organisation/network"
            require(is_known, f"timm.model must be {names}; got '{model}'.{nearest(model, known)}")
        asked: dict[str, Any] = {} if pooling == "avg" else {"global_pool": ""}
        asked |= {"img_size": image_size} if image_size else {}
        asked |= {"drop_path_rate": drop_path} if drop_path else {}
        try:
            network = timm.create_model(model, pretrained=is_pretrained, num_classes=0, **asked)
        except (RuntimeError, ValueError, TypeError, AssertionError, OSError) as error:
            if isinstance(error, OSError):
                fetched = f"timm.model: '{model}' is not in timm's cache, and its hub cannot be reached"
                raise InputError(f"{fetched}; give a safetensors file as trunk.weights") from error
            reason = str(error).partition("\n")[0]
            raise InputError(f"timm.model: timm cannot make '{model}': {reason}") from error
        facts = network.pretrained_cfg
        size = getattr(getattr(network, "patch_embed", None), "img_size", None)
        if size is not None and not getattr(network, "dynamic_img_size", False):
            self.input_side = int(size[0])
        self.preprocessing = Preprocessing(mean=tuple(facts["mean"]), deviation=tuple(facts["std"]))
        probe = torch.zeros(1, *facts["input_size"][:1], *(size or facts["input_size"][1:]))
        # timm's own `num_features` is another number for some networks.
        with torch.no_grad():
            shape = tuple(network.eval()(probe).shape)
        network.train()
        if pooling == "avg":
            require(len(shape) == 2, f"timm.model gives features of shape {shape}, not one vector per image")
        else:
            is_map = len(shape) == 4 and shape[2] == shape[3]
            require(
                is_map, f"timm.pooling={pooling} needs maps (n, c, h, w); this network gives {shape}: set pooling=avg"
            )
        self.n_features = int(shape[1])
        self.stages = torch.nn.ModuleList([torch.nn.Sequential(OrderedDict(colour=InColour(), network=network))])
        classifiers = facts.get("classifier") or ()
        classifiers = (classifiers,) if isinstance(classifiers, str) else tuple(classifiers)
        self.weights_fingerprint = load_weights(
            self,
            None if is_pretrained else weights,
            weights_sha256,
            dropped=tuple(f"{name}." for name in classifiers),
            rename=lambda name: name.removeprefix("stages.0.network."),
        )
        if is_pretrained:
            self.weights_fingerprint = fingerprint_of(network)
        self.stages = torch.nn.ModuleList(_stages(network, probe))


class _Features(torch.nn.Module):
    """What a network makes of images before the stages that were cut off."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.colour, self.network = InColour(), network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.network.forward_features(self.colour(images))  # type: ignore[operator]


class _Vectors(torch.nn.Module):
    """A network's own pooling, and what it does to the pooled features."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.network.forward_head(features, pre_logits=True)  # type: ignore[operator]


def _stages(network: torch.nn.Module, probe: torch.Tensor) -> list[torch.nn.Module]:
    """Return a network cut into stages that run one after another, or whole where it cannot be cut."""
    whole = torch.nn.Sequential(OrderedDict(colour=InColour(), network=network))
    names = next((chain for chain in CHAINS if all(hasattr(network, name) for name in chain)), ())
    head, links = copy.deepcopy(network), []
    for name in names:
        module = getattr(network, name)
        links += list(module) if name in ROWS else [module]
    if len(links) < N_STAGES:
        return [whole]
    body = copy.deepcopy(network)
    for name, _ in list(network.named_children()):
        if name in names or name in HEADS:
            setattr(body, name, torch.nn.Sequential() if name in ROWS else torch.nn.Identity())
        if name not in HEADS:
            setattr(head, name, torch.nn.Identity())
    for name, _ in list(head.named_parameters(recurse=False)):
        setattr(head, name, None)
    ends = [len(links) * (number + 1) // N_STAGES for number in range(N_STAGES)]
    groups = [links[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    stages = [torch.nn.Sequential(*group) for group in groups]
    stages[0].insert(0, _Features(body))
    stages[-1].append(_Vectors(head))
    cut = torch.nn.Sequential(*stages)
    try:
        with torch.no_grad():
            is_same = torch.equal(whole.eval()(probe), cut.eval()(probe))
    except (RuntimeError, TypeError, AttributeError, ValueError):
        is_same = False
    cut.train()
    whole.train()
    return [*stages] if is_same else [whole]


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
        told = f"trunk=timm needs the package {error.name or 'timm'}, which is not installed"
        raise InputError(f"{told}: pip install 'fairground[timm]'") from error
    return timm
