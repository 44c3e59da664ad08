"""Matryoshka: any loss on several prefixes of the embedding, so that its first coordinates serve alone.

Formula
    L = sum_m weights_m L(x_1..m, y),  m over `dimensions`;  L cuts the raw embedding and then scales it as it does

Paper
    Kusupati, Bhatt, Rege, Wallingford, Sinha, Ramanujan, Howard-Snyder, Chen, Kakade, Jain and Farhadi, "Matryoshka
    Representation Learning", NeurIPS 2022, equation 1.

Departures from the paper
    Any loss, where the paper has a softmax. Tuples are mined once, at the full dimension. Margins and temperatures are
    the same for all dimensions, although cosines spread wider in few of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Generator, Tensor, nn, stack
from torch.func import functional_call

from fairground.contracts.loss import Loss, Tuples, require
from fairground.losses._wrapped_parts import build_wrapped, checked_weights

#: the default dimensions are halved down to this
SMALLEST = 8


class MatryoshkaLoss(Loss):
    """`loss` with `settings` is the loss wrapped; `dimensions` are d, d/2, d/4 ... down to 8 by default, `weights` 1.

    With class weights `shared` (MRL-E) a dimension uses their first coordinates, with `own` (MRL) it has weights, and
    all else that the loss learns or remembers, of its own. Behind `cross_batch_memory` whole embeddings are remembered.
    """

    is_learnable = True

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        levels: Tensor | None = None,
        loss: str = "normalised_softmax",
        settings: Mapping[str, Any] | None = None,
        dimensions: Sequence[int] = (),
        weights: Sequence[float] = (),
        class_weights: Literal["shared", "own"] = "shared",
    ) -> None:
        super().__init__()
        self.dimensions = tuple(dimensions) or halved(embedding_dim)
        wanted = f"matryoshka.dimensions must be different whole numbers in 1..{embedding_dim}"
        valid = {m for m in self.dimensions if isinstance(m, int) and 1 <= m <= embedding_dim}
        require(len(valid) == len(self.dimensions), f"{wanted}; got {list(dimensions)}")
        self.weights = checked_weights("matryoshka", weights, len(self.dimensions), "dimension")

        def build(dimension: int) -> Loss:
            sizes = {"n_classes": n_classes, "embedding_dim": dimension, "levels": levels}
            built: Loss = build_wrapped("matryoshka", "losses", Loss, loss, settings or {}, sizes)
            return built

        built = [build(embedding_dim)] if class_weights == "shared" else [build(m) for m in self.dimensions]
        self.losses = nn.ModuleList(built)
        #: which weights of a shared loss have one number per coordinate, and along which axis
        self.axes: dict[str, int] = {}
        if class_weights == "shared":
            remembers = next(built[0].buffers(), None) is not None
            refusal = f"matryoshka.class_weights must be 'own' for {loss}, which keeps values from batch to batch"
            require(not remembers, f"{refusal}; got 'shared'")
            with torch.device("meta"):
                narrow = build(1)
            for (name, wide), one in zip(built[0].named_parameters(), narrow.parameters(), strict=True):
                if wide.shape != one.shape:
                    self.axes[name] = next(axis for axis, size in enumerate(wide.shape) if size != one.shape[axis])
        self.accepts, self.on_sphere, self.is_random = built[0].accepts, built[0].on_sphere, built[0].is_random
        self.n_classes = built[0].n_classes

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        values = []
        for number, (m, weight) in enumerate(zip(self.dimensions, self.weights, strict=True)):
            loss = self.losses[number % len(self.losses)]
            given = (embeddings[:, :m], labels, tuples)
            named = dict(loss.named_parameters())
            cut = {name: named[name].narrow(axis, 0, m) for name, axis in self.axes.items()}
            values.append(weight * functional_call(loss, cut, given, {"generator": generator}))
        return stack(values).sum()

    def known_bugs(self) -> tuple[str, ...]:
        first = self.losses[0]
        return first.known_bugs() if isinstance(first, Loss) else ()


def halved(dimension: int) -> tuple[int, ...]:
    """Return d, d/2, d/4 ... down to 8."""
    return (dimension, *(halved(dimension // 2) if dimension // 2 >= SMALLEST else ()))
