"""The residual blocks of ResNet-50 and the trunk made of them, wherever a block has its stride."""

from collections import OrderedDict
from typing import ClassVar

from torch import Tensor, nn

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling
from fairground.trunks._fused_convolution import Chain, conv_norm
from fairground.trunks._pretrained_weights import load_weights

#: width at the end of a block against its own
EXPANSION = 4


class BottleneckTrunk(PhotoTrunk):
    """`weights` is none, imagenet, or a file with torchvision's or Cadene's names; a pickle needs `weights_sha256`."""

    #: whether a block halves the image in its first convolution, not in its second
    has_stride_first: ClassVar[bool]

    def __init__(
        self, *, channels: int, weights: str | None = None, weights_sha256: str = "", pooling: Pooling = "avg"
    ) -> None:
        super().__init__(channels, pooling)
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
                blocks.append(Bottleneck(before, width, stride, has_stride_first=self.has_stride_first))
                before = EXPANSION * width
            self.stages.append(nn.Sequential(OrderedDict({f"layer{number}": blocks})))
        self.n_features = before
        self.weights_fingerprint = load_weights(self, weights, weights_sha256, dropped=("fc.", "last_linear."))


class Bottleneck(nn.Module):
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
