"""BN-Inception: inception modules with batch norm throughout, the trunk of Musgrave et al.

Formula
    Stem as in GoogLeNet. Modules of four branches put side by side: 1 x 1; 1 x 1 and 3 x 3; 1 x 1 and two 3 x 3; pool
    and 1 x 1. Modules 3c and 4e halve the image: they have no 1 x 1 branch and pass the pooled input on. The features
    are the mean over the image: 1024 numbers, 10.3 million weights.

Paper
    Ioffe and Szegedy, "Batch Normalization", ICML 2015.

Departures from the paper
    As the weights published with Cadene's `pretrainedmodels` need it: convolutions have biases, pools round up, and the
    input is BGR in 0..255 less (104, 117, 128). Roth et al. write the same as mean (.502, .4588, .4078) and deviation
    .0039 of values in 0..1 before turning RGB round, which comes to 1.0055 times as much. Sizes at which the original
    fails, an odd side at 3c or 4e, are padded. Without weights, the first ones are torch's own.
"""

import re
from collections import OrderedDict

import torch

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling, Preprocessing, PublishedWeights
from fairground.trunks._fused_convolution import Chain
from fairground.trunks._pretrained_weights import load_weights, stripped

#: widths of each module: 1 x 1; reduced and 3 x 3; reduced and the two 3 x 3; after the pool
_MODULES = {
    "inception_3a": (64, 64, 64, 64, 96, 32),
    "inception_3b": (64, 64, 96, 64, 96, 64),
    "inception_3c": (0, 128, 160, 64, 96, 0),
    "inception_4a": (224, 64, 96, 96, 128, 128),
    "inception_4b": (192, 96, 128, 96, 128, 128),
    "inception_4c": (160, 128, 160, 128, 160, 128),
    "inception_4d": (96, 128, 192, 160, 192, 128),
    "inception_4e": (0, 128, 192, 192, 256, 0),
    "inception_5a": (352, 192, 320, 160, 224, 128),
    "inception_5b": (352, 192, 320, 192, 224, 128),
}


class BnInceptionTrunk(PhotoTrunk):
    """`weights` is none, imagenet, or a file with Cadene's names; a pickle needs `weights_sha256`."""

    preprocessing = Preprocessing(mean=(104.0, 117.0, 128.0), deviation=(1.0, 1.0, 1.0), scale=1.0, order="bgr")

    n_weights = 10_270_240
    published = (
        PublishedWeights(
            file="bn_inception-52deb4733.pth",
            sha256="52deb473314542a5c2f87e9e6f26f4ca42fe863d15f986414dbae8c2dfdd2353",
            address="http://data.lip6.fr/cadene/pretrainedmodels/bn_inception-52deb4733.pth",
        ),
    )

    def __init__(
        self, *, channels: int, weights: str | None = None, weights_sha256: str = "", pooling: Pooling = "avg"
    ) -> None:
        super().__init__(channels, pooling)
        first = {"colour": InColour(), **_convolution("conv1_7x7_s2", 3, 64, 7, stride=2)}
        second = {
            "pool1_3x3_s2": torch.nn.MaxPool2d(3, stride=2, ceil_mode=True),
            **_convolution("conv2_3x3_reduce", 64, 64, 1),
            **_convolution("conv2_3x3", 64, 192, 3),
        }
        groups: dict[str, dict[str, torch.nn.Module]] = {
            "3": {"pool2_3x3_s2": torch.nn.MaxPool2d(3, stride=2, ceil_mode=True)},
            "4": {},
            "5": {},
        }
        before = 192
        for name, widths in _MODULES.items():
            groups[name[-2]][name] = _Inception(before, *widths, is_last=name == "inception_5b")
            before = widths[0] + widths[2] + widths[4] + (widths[5] or before)
        self.stages = torch.nn.ModuleList(Chain(OrderedDict(group)) for group in (first, second, *groups.values()))
        self.n_features = before
        self.weights_fingerprint = load_weights(
            self, weights, weights_sha256, dropped=("last_linear.", "fc."), rename=_published_name
        )


class _Inception(torch.nn.Module):
    def __init__(
        self, before: int, one: int, to_three: int, three: int, to_double: int, double: int, pooled: int, is_last: bool
    ) -> None:
        super().__init__()
        # Only the modules that halve the image lack a 1 x 1 branch.
        stride = 1 if one else 2
        branches = [
            _convolution("1x1", before, one, 1) if one else {},
            {
                **_convolution("3x3_reduce", before, to_three, 1),
                **_convolution("3x3", to_three, three, 3, stride=stride),
            },
            {
                **_convolution("double_3x3_reduce", before, to_double, 1),
                **_convolution("double_3x3_1", to_double, double, 3),
                **_convolution("double_3x3_2", double, double, 3, stride=stride),
            },
            {"pool": _pool(stride, is_last), **(_convolution("pool_proj", before, pooled, 1) if pooled else {})},
        ]
        self.branches = torch.nn.ModuleList(Chain(OrderedDict(branch)) for branch in branches if branch)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(hidden) for branch in self.branches], dim=1)


class _HalvingPool(torch.nn.Module):
    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        height, width = hidden.shape[-2:]
        # The convolutions beside it round an odd side up; what comes in is never negative, so zeros do no harm.
        even = torch.nn.functional.pad(hidden, (0, width % 2, 0, height % 2))
        return torch.nn.functional.max_pool2d(even, 3, 2, ceil_mode=True)


def _pool(stride: int, is_last: bool) -> torch.nn.Module:
    if stride == 2:
        return _HalvingPool()
    return torch.nn.MaxPool2d(3, stride=1, padding=1) if is_last else torch.nn.AvgPool2d(3, stride=1, padding=1)


def _convolution(name: str, before: int, after: int, size: int, *, stride: int = 1) -> dict[str, torch.nn.Module]:
    return {
        name: torch.nn.Conv2d(before, after, size, stride=stride, padding=size // 2),
        f"{name}_bn": torch.nn.BatchNorm2d(after),
        f"{name}_relu": torch.nn.ReLU(inplace=True),
    }


def _published_name(name: str) -> str:
    """Return Cadene's flat name: stages.2.inception_3a.branches.1.3x3_bn.bias is inception_3a_3x3_bn.bias."""
    return re.sub(r"^(inception_\w+)\.branches\.\d+\.", r"\1_", stripped(name))
