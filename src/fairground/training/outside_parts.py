"""Parts from outside, behind our contracts: plain modules, functions, samplers of torch, transforms of torchvision.

A function that can be called with what the run supplies makes the part, any other is the part. Tuples are index
vectors, three for triplets and four for pairs, as in pytorch-metric-learning.
"""

import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairground.contracts import BatchSampler, Head, Images, Loss, Miner, Pairs, Transform, Triplets, Trunk, Tuples
from fairground.loading import InputError, ObjectDataset, for_each, require, shrunk_picture

#: heights and widths that the width of an outside trunk is looked for with
_SIDES = (224, 227, 256, 299, 128, 96, 64, 32, 28, 16, 8)


class ExternalLoss(Loss):
    """A loss module or function from outside, called with (embeddings, labels) or (embeddings, labels, tuples)."""

    def __init__(self, *, module: Callable[..., Any]) -> None:
        super().__init__()
        self.module = module
        takes_tuples = len(inspect.signature(getattr(module, "forward", module)).parameters) >= 3
        self.accepts = (Triplets, Pairs) if takes_tuples else ()

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        with own_randomness(generator):
            arguments = (embeddings, labels) if tuples is None else (embeddings, labels, tuple(tuples))
            value: Tensor = self.module(*arguments)
        got = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        is_number = isinstance(value, Tensor) and value.numel() == 1
        require(is_number, f"{_called(self.module)} must return one number; got {got}")
        return value.reshape(())


class ExternalMiner(Miner):
    """A miner module or function from outside, called with (embeddings, labels)."""

    def __init__(self, *, module: Callable[..., Any]) -> None:
        self.module = module

    def mine(self, embeddings: Tensor, labels: Tensor, *, generator: torch.Generator | None) -> Tuples:
        with own_randomness(generator):
            found = self.module(embeddings, labels)
        is_right = isinstance(found, tuple) and len(found) in (3, 4)
        require(is_right, f"{_called(self.module)} must return 3 index vectors (triplets) or 4 (pairs)")
        return Triplets(*found) if len(found) == 3 else Pairs(*found)


class ExternalTrunk(Trunk):
    """A network from outside as one stage: images or features to feature vectors (n, d), or to maps that are pooled.

    Its width is its `n_features` or `num_features` if it has one; otherwise it is looked for with images of zeros.
    """

    def __init__(self, *, module: nn.Module, channels: int) -> None:
        super().__init__()
        self.stages = nn.ModuleList([module])
        self.preprocessing = getattr(module, "preprocessing", self.preprocessing)
        declared = getattr(module, "n_features", getattr(module, "num_features", None))
        self.n_features = declared if isinstance(declared, int) else self._probed(channels)

    def pool(self, hidden: Tensor) -> Tensor:
        require(hidden.ndim in (2, 4), f"a trunk gives vectors (n, d) or maps (n, d, h, w); got {tuple(hidden.shape)}")
        return super().pool(hidden)

    def _probed(self, channels: int) -> int:
        # A transform may give another number of channels than the data have.
        sizes = [(channels,), *((c, side, side) for c in dict.fromkeys((channels, 3, 1)) for side in _SIDES)]
        width = next((found for size in sizes if (found := _width(self, size))), 0)
        tried = f"for images of {channels}, 3 and 1 channels and sides of {', '.join(map(str, sorted(_SIDES)))}"
        refusal = f"trunk {type(self.stages[0]).__name__} gave no feature vectors (n, d) {tried}"
        require(width > 0, f"{refusal}; set its attribute n_features to the width of its vectors")
        return width


class ExternalHead(Head):
    """A module from outside that turns features (n, n_features) into embeddings (n, d)."""

    def __init__(self, *, module: nn.Module, n_features: int) -> None:
        super().__init__()
        self.module = module
        self.embedding_dim = _width(self, (n_features,))
        refusal = f"head {type(module).__name__} must turn features (n, {n_features}) into embeddings (n, d)"
        require(self.embedding_dim > 0, refusal)

    def forward(self, features: Tensor) -> Tensor:
        return self.module(features)


class ExternalSampler(BatchSampler):
    """A sampler of torch's kind: a pass over it gives batches of rows, or rows of which batches are made."""

    draws_globally = True

    def __init__(self, *, sampler: Any, batch_size: int, n_rows: int) -> None:
        super().__init__(batch_size=batch_size)
        require(hasattr(sampler, "__len__"), f"sampler {_called(sampler)} must have a length: batches or rows per pass")
        self.sampler, self._n_rows = sampler, n_rows
        self.n_batches = len(self.plan(torch.Generator().manual_seed(0)))

    def plan(self, generator: torch.Generator) -> Tensor:
        """Return the batches of one pass; an incomplete last one is dropped."""
        with own_randomness(generator):
            own = getattr(self.sampler, "generator", None)
            if isinstance(own, torch.Generator):
                own.manual_seed(torch.initial_seed() % 2**62)
            drawn = [torch.as_tensor(item) for item in self.sampler]
        name, wanted = _called(self.sampler), f"training.batch_size={self.batch_size}"
        if drawn and drawn[0].ndim == 1:
            drawn = drawn[:-1] if len(drawn) > 1 and len(drawn[-1]) != len(drawn[0]) else drawn
            sizes = {len(batch) for batch in drawn}
            require(sizes == {self.batch_size}, f"sampler {name} gives batches of {sorted(sizes)} rows, not {wanted}")
        rows = torch.cat([item.reshape(-1) for item in drawn]) if drawn else torch.zeros(0)
        rows = rows[: len(rows) // self.batch_size * self.batch_size].long().cpu()
        require(len(rows) > 0, f"sampler {name} gives fewer rows per pass than {wanted}")
        is_inside = int(rows.min()) >= 0 and int(rows.max()) < self._n_rows
        advice = f"are those of the training split, 0 to {self._n_rows - 1}: give the class, or a function of labels"
        require(is_inside, f"sampler {name} gives row {int(rows.max())}; rows {advice}")
        return rows.reshape(-1, self.batch_size)


class ExternalTransform(Transform):
    """Functions of one picture of Pillow (of features, one row), as torchvision has them: for training, for evaluation.

    What they return as bytes is divided by 255; floats are left as they are.
    """

    draws_globally = True

    def __init__(self, *, train: Callable[[Any], Any], evaluate: Callable[[Any], Any] | None = None) -> None:
        self._train, self._evaluate = train, evaluate or train

    def train(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        return self._made(self._train, images, rows, generator).to(generator.device)

    def evaluate(self, images: Images, rows: np.ndarray, device: torch.device | None = None) -> Tensor:
        # The same draws each time, should it draw.
        return self._made(self._evaluate, images, rows, torch.Generator().manual_seed(0)).to(device)

    def _made(
        self, change: Callable[[Any], Any], images: Images, rows: np.ndarray, generator: torch.Generator
    ) -> Tensor:
        if images.is_picture:
            items: Any = for_each(lambda row: shrunk_picture(images, row, side=2**30)[0], rows.tolist())
        else:
            items = images.take(rows)
        with own_randomness(generator):
            made = [_float_image(change(item)) for item in items]
        sizes = sorted({tuple(image.shape) for image in made})
        require(len(sizes) == 1, f"transform {_called(change)} must give images of one size; got {sizes[:3]}")
        return torch.stack(made)


def as_part(key: str, name: str, made: Any, supplied: Mapping[str, Any]) -> Any:
    """Return a part behind its contract; `supplied` is what the run knows."""
    is_module, is_callable = isinstance(made, nn.Module), callable(made)
    match key:
        case "data":
            return ObjectDataset(made)
        case "loss" if is_callable:
            return ExternalLoss(module=made)
        case "miner" if is_callable:
            return ExternalMiner(module=made)
        case "trunk" if is_module:
            return ExternalTrunk(module=made, channels=supplied["channels"])
        case "head" if is_module:
            return ExternalHead(module=made, n_features=supplied["n_features"])
        case "sampler" if hasattr(made, "__iter__"):
            return ExternalSampler(sampler=made, batch_size=supplied["batch_size"], n_rows=len(supplied["labels"]))
        case "transform" if is_callable:
            return ExternalTransform(train=made)
        case "transform" if isinstance(made, tuple) and len(made) == 2 and all(map(callable, made)):
            return ExternalTransform(train=made[0], evaluate=made[1])
    raise InputError(f"{key}={name} is not a {key}: got {type(made).__name__}")


@contextmanager
def own_randomness(generator: torch.Generator | None) -> Iterator[None]:
    """Outsiders draw from global streams: lend them ones that our generator started, and put the old ones back."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002 - what outsiders use
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(numpy_state)  # noqa: NPY002
            random.setstate(python_state)


def _width(module: nn.Module, size: tuple[int, ...]) -> int:
    """Return the width of the vectors that a module makes of inputs of a size; 0 where it cannot take them."""
    try:
        with torch.no_grad():
            found = module.eval()(torch.zeros(2, *size))
    except (RuntimeError, ValueError, IndexError, AssertionError, TypeError):
        return 0
    finally:
        module.train()
    is_vectors = isinstance(found, Tensor) and found.ndim == 2 and len(found) == 2
    return int(found.shape[1]) if is_vectors else 0


def _float_image(made: Any) -> Tensor:
    if not isinstance(made, Tensor):
        pixels = np.array(made)
        made = torch.from_numpy(pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0))
    image: Tensor = made.as_subclass(Tensor).float()
    return image / 255 if made.dtype == torch.uint8 else image


def _called(part: Any) -> str:
    return str(getattr(part, "__name__", type(part).__name__))
