"""GoogLeNet: nine inception modules that look at several scales side by side.

Formula
    Stem: convolution 7 x 7 / 2, max pool, convolutions 1 x 1 and 3 x 3, max pool. Then modules of four branches put
    side by side: 1 x 1; 1 x 1 and 3 x 3; 1 x 1 and "5 x 5"; max pool and 1 x 1. Two, five and two of them with max
    pools between. The features are the mean over the image: 1024 numbers, 5.6 million weights.

Paper
    Szegedy et al., "Going Deeper with Convolutions", CVPR 2015.

Departures from the paper
    As torchvision's published weights need it: batch norm after each convolution, and 3 x 3 where the paper has 5 x 5
    (a known slip of theirs). Those weights came from TensorFlow and expect values in -1..1; torchvision's own network
    takes the usual ImageNet scaling and converts it inside (`transform_input`), we declare the scaling itself. Its
    classifiers, the two auxiliary ones too, are left out. Without weights, the first ones are torch's own.
"""

from collections import OrderedDict

from torch import Tensor, cat, nn

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling, Preprocessing, PublishedWeights
from fairground.trunks._fused_convolution import conv_norm
from fairground.trunks._pretrained_weights import load_weights

#: widths of each module: 1 x 1; reduced and 3 x 3; reduced and "5 x 5"; after the pool
_MODULES = {
    "inception3a": (64, 96, 128, 16, 32, 32),
    "inception3b": (128, 128, 192, 32, 96, 64),
    "inception4a": (192, 96, 208, 16, 48, 64),
    "inception4b": (160, 112, 224, 24, 64, 64),
    "inception4c": (128, 128, 256, 24, 64, 64),
    "inception4d": (112, 144, 288, 32, 64, 64),
    "inception4e": (256, 160, 320, 32, 128, 128),
    "inception5a": (256, 160, 320, 32, 128, 128),
    "inception5b": (384, 192, 384, 48, 128, 128),
}


class GooglenetTrunk(PhotoTrunk):
    """`weights` is none, imagenet, or a file with torchvision's names; a pickle needs `weights_sha256`."""

    preprocessing = Preprocessing(mean=(0.5, 0.5, 0.5), deviation=(0.5, 0.5, 0.5))

    n_weights = 5_599_904
    published = (
        PublishedWeights(
            file="googlenet-1378be20.pth",
            sha256="1378be20a8e875cf1568b8a71654e704449655e34711a959a38b04fb34905cef",
            address="https://download.pytorch.org/models/googlenet-1378be20.pth",
        ),
    )

    def __init__(
        self, *, channels: int, weights: str | None = None, weights_sha256: str = "", pooling: Pooling = "avg"
    ) -> None:
        super().__init__(channels, pooling)
        first: dict[str, nn.Module] = {"colour": InColour(), "conv1": _Convolution(3, 64, 7, stride=2)}
        second: dict[str, nn.Module] = {
            "maxpool1": nn.MaxPool2d(3, stride=2, ceil_mode=True),
            "conv2": _Convolution(64, 64, 1),
            "conv3": _Convolution(64, 192, 3),
        }
        groups: dict[str, dict[str, nn.Module]] = {
            "3": {"maxpool2": nn.MaxPool2d(3, stride=2, ceil_mode=True)},
            "4": {"maxpool3": nn.MaxPool2d(3, stride=2, ceil_mode=True)},
            "5": {"maxpool4": nn.MaxPool2d(2, stride=2, ceil_mode=True)},
        }
        before = 192
        for name, widths in _MODULES.items():
            groups[name[-2]][name] = _Inception(before, *widths)
            before = widths[0] + widths[2] + widths[4] + widths[5]
        self.stages = nn.ModuleList(nn.Sequential(OrderedDict(group)) for group in (first, second, *groups.values()))
        self.n_features = before
        self.weights_fingerprint = load_weights(
            self, weights, weights_sha256, dropped=("fc.", "last_linear.", "aux1.", "aux2.")
        )


class _Convolution(nn.Module):
    def __init__(self, before: int, after: int, size: int, *, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, size, stride=stride, padding=size // 2, bias=False)
        self.bn = nn.BatchNorm2d(after, eps=0.001)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, hidden: Tensor) -> Tensor:
        return conv_norm(self.conv, self.bn, hidden, self.relu)


class _Inception(nn.Module):
    def __init__(self, before: int, one: int, to_three: int, three: int, to_five: int, five: int, pooled: int) -> None:
        super().__init__()
        self.branch1 = _Convolution(before, one, 1)
        self.branch2 = nn.Sequential(_Convolution(before, to_three, 1), _Convolution(to_three, three, 3))
        self.branch3 = nn.Sequential(_Convolution(before, to_five, 1), _Convolution(to_five, five, 3))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), _Convolution(before, pooled, 1))

    def forward(self, hidden: Tensor) -> Tensor:
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return cat([branch(hidden) for branch in branches], dim=1)
