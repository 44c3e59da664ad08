"""What trunks, heads and transforms are, what a network expects of an image, and the batch of a training step."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch

from fairground.contracts import Images, Part, Pooling, pooled, require

#: where tensors go; None leaves them in main memory
Device = torch.device | None
#: what the files of these parts need beside what is defined here
__all__ = ["Head", "Images", "Pooling", "require"]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """(value / `scale` - `mean`) / `deviation` for each channel, after putting the channels in `order`."""

    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    deviation: tuple[float, ...] = (0.229, 0.224, 0.225)
    scale: float = 255.0
    order: Literal["rgb", "bgr"] = "rgb"

    def apply(self, images: torch.Tensor) -> torch.Tensor:
        """Return RGB images (n, 3, h, w) of values up to 255, or gray ones (n, 1, h, w), as the network wants them."""
        if images.shape[1] == 1:
            images = images.expand(-1, 3, -1, -1)
        if self.order == "bgr":
            images = images.flip(1)
        deviation = torch.tensor(self.deviation, dtype=torch.float32, device=images.device)
        mean = torch.tensor(self.mean, dtype=torch.float32, device=images.device)
        factor, shift = 1 / (self.scale * deviation), mean / deviation
        if not images.is_contiguous(memory_format=torch.channels_last):
            return images.float().mul(factor.view(1, -1, 1, 1)).sub(shift.view(1, -1, 1, 1))
        # With the channels last in memory, three numbers repeated would be read one by one; a row of them is not.
        n, channels, height, width = images.shape
        rows = images.permute(0, 2, 3, 1).reshape(n * height, width * channels).to(torch.float32, copy=True)
        rows.mul_(factor.repeat(width)).sub_(shift.repeat(width))
        return rows.view(n, height, width, channels).permute(0, 3, 1, 2)


#: what networks trained on ImageNet expect unless they say otherwise
IMAGENET = Preprocessing()


@dataclass(frozen=True, kw_only=True)
class PublishedWeights:
    """A file of weights as published: its name, its SHA-256 or the beginning of it, and where to get it.

    `package` names the installed package that carries the file, and the folder within, where there is one.
    """

    file: str
    sha256: str
    address: str
    package: str = ""


class Batch(NamedTuple):
    """`labels` (b,) are 0..C-1, `rows` (b,) positions in the training split.

    `chunks` are the images for the trunk, (k, c, h, w) each: all of them in one chunk, or several that are made when
    they are asked for, the same each time.
    """

    chunks: Collection[torch.Tensor]
    labels: torch.Tensor
    rows: torch.Tensor

    @property
    def images(self) -> torch.Tensor:
        pieces = list(self.chunks)
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)


class Mixing(NamedTuple):
    """Sample i becomes `weight` * i + (1 - weight) * `partner[i]`, before trained stage `stage` of the trunk.

    Stages are counted from the first that trains: 0 mixes images where all do. `gather` finds the partners where a
    batch is shared by several processes: it returns the full batch of each share.
    """

    weight: float
    partner: torch.Tensor
    stage: int
    gather: Callable[[torch.Tensor], torch.Tensor] | None = None


def mix(hidden: torch.Tensor, mixing: Mixing) -> torch.Tensor:
    batch = hidden if mixing.gather is None else mixing.gather(hidden)
    return mixing.weight * hidden + (1 - mixing.weight) * batch[mixing.partner]


class Trunk(Part, torch.nn.Module, ABC):
    """Images to features. `stages` run one after another, so that a regulariser may mix samples between them.

    A trunk declares the `preprocessing` its weights expect; `assemble` hands it to the transform. `published` are the
    files that `weights=imagenet` may be. The first `n_frozen` stages do not train. Where `is_past_frozen`, inputs are
    not images but what those stages made of them earlier.
    """

    #: how many weights it has, where no setting decides
    n_weights: ClassVar[int | None] = None
    published: ClassVar[tuple[PublishedWeights, ...]] = ()
    #: "sha256:" and the hash of the file its first weights were read from; nothing where they were drawn at random
    weights_fingerprint: str = ""
    #: width of the feature vectors
    n_features: int
    stages: torch.nn.ModuleList
    #: the side of the only images it takes, where it takes no others
    input_side: int | None = None
    preprocessing: Preprocessing = IMAGENET
    n_frozen: int = 0
    is_past_frozen: bool = False

    def __init__(self, *, pooling: Pooling = "avg") -> None:
        super().__init__()
        self.pooling = pooling

    def forward(self, images: torch.Tensor, mixing: Mixing | None = None) -> torch.Tensor:
        """Return features (n, n_features) of images (n, c, h, w); samples are mixed before a stage that trains."""
        hidden = images if self.is_past_frozen else self.frozen_output(images)
        for number in range(self.n_frozen, len(self.stages)):
            if mixing is not None and mixing.stage == number - self.n_frozen:
                hidden = mix(hidden, mixing)
            hidden = self.stages[number](hidden)
        return self.pool(hidden)

    def frozen_output(self, images: torch.Tensor) -> torch.Tensor:
        """Return what the frozen stages make of images; features (n, n_features) where every stage is frozen."""
        hidden = images
        for number in range(self.n_frozen):
            hidden = self.stages[number](hidden)
        return self.pool(hidden) if 0 < self.n_frozen == len(self.stages) else hidden

    def pool(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return feature vectors from what the last stage gives, maps or vectors already."""
        return hidden if hidden.ndim == 2 else pooled(hidden, self.pooling)


class PhotoTrunk(Trunk):
    """A trunk for photographs of 3 channels, or of 1 that is repeated."""

    def __init__(self, channels: int, pooling: Pooling = "avg") -> None:
        super().__init__(pooling=pooling)
        taken = f"trunk {type(self).__module__.rpartition('.')[2]} takes images of 3 channels, or of 1 that is repeated"
        require(channels in (1, 3), f"{taken}; the data have {channels}. For ready-made features say trunk=features")


class InColour(torch.nn.Module):
    """Gray images become three equal channels; a view, so it costs nothing."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images


class Head(torch.nn.Module, ABC):
    """Features to embeddings; constructors take `*, n_features: int, embedding_dim: int`.

    A head that starts from the data sets `needs_features`; training then calls `fit` once before the first step, or
    `fit_classes` where it `needs_labels` too.
    """

    needs_features: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    embedding_dim: int
    #: widths of the embeddings that training sees after the own one, where a head has branches
    branch_dims: tuple[int, ...] = ()

    def fit(self, blocks: Iterable[torch.Tensor]) -> None:
        """Take the trunk's features of the whole training split, a block (n, n_features) at a time."""

    def fit_classes(self, blocks: Iterable[torch.Tensor], labels: torch.Tensor) -> None:
        """Take the same with the class of every row, in the order of the rows."""


class AffineHead(Head):
    """A head of one linear layer, which may start from the data."""

    def __init__(self, n_features: int, embedding_dim: int, *, bias: bool = True) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.layer = torch.nn.Linear(n_features, embedding_dim, bias=bias)

    def start_at(self, weight: torch.Tensor, bias: torch.Tensor) -> None:
        with torch.no_grad():
            self.layer.weight.copy_(weight)
            self.layer.bias.copy_(bias)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.layer(features)


@dataclass(frozen=True)
class Augmentation:
    """The images of a batch, whose random numbers are drawn and which are not made yet.

    `make(part)` returns those of a slice of the batch's `n` rows as floats (k, c, h, w): the same each time it is
    asked, and the same whether the slice is a part of the batch or all of it.
    """

    n: int
    make: Callable[[slice], torch.Tensor]


class Transform(Part, ABC):
    """Images by row to the trunk's input: `train` augments with the generator given, `evaluate` never does.

    A constructor may ask for the trunk's `preprocessing` by name. `plan` and `evaluate` return images on the device
    given; a run draws on the CPU whatever its device, so that a seed gives the same images on all of them.
    """

    #: whether it draws from torch's global stream, so that nothing may draw beside it
    draws_globally: bool = False

    @abstractmethod
    def train(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> torch.Tensor:
        """Return the images of `rows` augmented, as floats (n, c, h, w)."""

    @abstractmethod
    def evaluate(self, images: Images, rows: np.ndarray, device: Device = None) -> torch.Tensor:
        """Return the images of `rows` plain, as floats (n, c, h, w)."""

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator, device: Device = None) -> Augmentation:
        """Draw what `train` would draw; its images can then be made a part at a time. Here all are made at once."""
        batch = self.train(images, rows, generator)
        return Augmentation(len(rows), lambda part: batch[part].to(device))


class PlannedTransform(Transform):
    """A transform that draws for the whole batch in `plan`, and makes no image before it is asked for.

    Arithmetic on the draws belongs into `plan`: the rounding of a vectorised function may depend on the place in the
    vector, so that a part computed alone would differ.
    """

    def train(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> torch.Tensor:
        return self.plan(images, rows, generator).make(slice(0, len(rows)))
