"""ResNet-50: residual blocks of three convolutions, the trunk of Roth et al.

Formula
    Stem: convolution 7 x 7 / 2, batch norm, ReLU, max pool 3 x 3 / 2. Then 3, 4, 6 and 3 blocks of width 64, 128, 256
    and 512: h <- relu(h' + bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(h)))))))), four times as wide at the end; h' is
    h, or its projection where size or width change. The features are the mean over the image: 2048 numbers, 23.5
    million weights.

Paper
    He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", CVPR 2016.

Departures from the paper
    A block halves the image in its 3 x 3 convolution rather than the first 1 x 1 one, as the weights need that
    torchvision and Cadene's `pretrainedmodels` publish. Without weights, the first ones are torch's own.
"""

from collections import OrderedDict
from typing import ClassVar

from torch import Tensor, nn

from fairground.contracts.model import InColour, PhotoTrunk, PublishedWeights
from fairground.trunks._conv_norm import Chain, conv_norm
from fairground.trunks._weights import load_weights

#: width at the end of a block against its own
EXPANSION = 4


class Resnet50Trunk(PhotoTrunk):
    """`weights` is none, imagenet, or a file with torchvision's or Cadene's names; a pickle needs `weights_sha256`."""

    #: whether a block halves the image in its first convolution, not in its second
    has_stride_first: ClassVar[bool] = False

    n_weights = 23_508_032
    published: ClassVar[tuple[PublishedWeights, ...]] = (
        PublishedWeights(
            file="resnet50-0676ba61.pth",
            sha256="0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a",
            address="https://download.pytorch.org/models/resnet50-0676ba61.pth",
        ),
        # The same weights as saved in 2017; `pretrainedmodels`, and with it Roth et al., used this file.
        PublishedWeights(
            file="resnet50-19c8e357.pth",
            sha256="19c8e357",
            address="https://download.pytorch.org/models/resnet50-19c8e357.pth",
        ),
    )

    def __init__(self, *, channels: int, weights: str | None = None, weights_sha256: str = "") -> None:
        super().__init__(channels)
        stem = {
            "colour": InColour(),
            "conv1": nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
            "bn1": nn.BatchNorm2d(64),
            "relu": nn.ReLU(inplace=True),
            "maxpool": nn.MaxPool2d(3, stride=2, padding=1),
        }
        self.stages = nn.ModuleList([Chain(OrderedDict(stem))])
        before = 64
        for number, (width, n_blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
            blocks = nn.Sequential()
            for place in range(n_blocks):
                stride = 2 if number > 1 and place == 0 else 1
                blocks.append(_Bottleneck(before, width, stride, has_stride_first=self.has_stride_first))
                before = EXPANSION * width
            self.stages.append(nn.Sequential(OrderedDict({f"layer{number}": blocks})))
        self.n_features = before
        self.weights_fingerprint = load_weights(self, weights, weights_sha256, dropped=("fc.", "last_linear."))


class _Bottleneck(nn.Module):
    """h <- relu(h' + bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(h)))))))), h' being h or its projection."""

    def __init__(self, before: int, width: int, stride: int, *, has_stride_first: bool) -> None:
        super().__init__()
        after = EXPANSION * width
        first, second = (stride, 1) if has_stride_first else (1, stride)
        self.conv1 = nn.Conv2d(before, width, 1, stride=first, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=second, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = Chain()
        if stride > 1 or before != after:
            self.downsample.append(nn.Conv2d(before, after, 1, stride=stride, bias=False))
            self.downsample.append(nn.BatchNorm2d(after))

    def forward(self, hidden: Tensor) -> Tensor:
        inner = conv_norm(self.conv1, self.bn1, hidden, self.relu)
        inner = conv_norm(self.conv2, self.bn2, inner, self.relu)
        return conv_norm(self.conv3, self.bn3, inner, self.relu, self.downsample(hidden))
