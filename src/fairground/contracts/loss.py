"""What every loss is: embeddings and labels in, one differentiable number out; and the tuples a miner may hand it.

A loss is its *formula*, in plain torch. It may have a *kernel*: the same number together with its gradient, fast on a
processor; `kernel_or_formula.py` chooses between them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from torch import Generator, Tensor, nn

from fairground.contracts import KernelResult, LossInputs, Part, by_kernel_or_formula, is_eager
from fairground.spec import Integer, LogReal, Real, require

#: what the files of these parts need beside what is defined here
__all__ = ["Integer", "LogReal", "Loss", "Real", "is_eager", "require"]


class Triplets(NamedTuple):
    """Three index vectors of one length: sample `anchor[t]` belongs with `positive[t]` and not with `negative[t]`."""

    anchor: Tensor
    positive: Tensor
    negative: Tensor

    @property
    def size(self) -> int:
        return int(self.anchor.numel())


class Pairs(NamedTuple):
    """Ordered pairs: `positive_anchor[t]` goes with `positive[t]`; `negative_anchor[t]` does not with `negative[t]`."""

    positive_anchor: Tensor
    positive: Tensor
    negative_anchor: Tensor
    negative: Tensor

    @property
    def size(self) -> int:
        return int(self.positive_anchor.numel() + self.negative_anchor.numel())


Tuples = Triplets | Pairs


def as_pairs(tuples: Tuples) -> Pairs:
    """Return the positive and the negative pair of every triplet, repeats kept; pairs pass through."""
    if isinstance(tuples, Pairs):
        return tuples
    return Pairs(tuples.anchor, tuples.positive, tuples.anchor, tuples.negative)


class Loss(Part, nn.Module, ABC):
    """A training objective over one batch.

    `accepts` names the kinds of tuples a miner may hand over (`Triplets`, `Pairs`); empty means the loss looks at
    the whole batch by itself. `tunable` gives the search range of each setting worth searching. `on_sphere` tells
    whether the loss compares unit vectors, and so how its embeddings should be evaluated; a loss with a switch for that
    sets it when constructed. `is_learnable` tells whether it has weights of its own, `is_random` whether it draws.

    Facts a loss cannot know (`n_classes`, `embedding_dim`) are constructor arguments of those names; `assemble`
    supplies them. A loss with weights for each class sets `n_classes`: its labels are 0..n_classes-1, and others are
    refused. On an accelerator only the first batch is waited for; later on an index out of range fails on the device.
    """

    accepts: tuple[type, ...] = ()
    bounds: ClassVar[Mapping[str, str]] = {"n_classes": "[1, inf)", "embedding_dim": "[1, inf)"}
    is_learnable: ClassVar[bool] = False
    #: whether labels may be marks (n, L) of several labels per embedding; those that share one then belong together
    takes_label_sets: ClassVar[bool] = False
    is_random: bool = False
    on_sphere: bool = True
    n_classes: int | None = None
    _has_seen_labels: bool = False

    def forward(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None = None, *, generator: Generator | None = None
    ) -> Tensor:
        """Return the loss of raw `embeddings` (n, d) with integer `labels` (n,), over `tuples` or all there are."""
        require_batch(self, embeddings, labels)
        if tuples is not None and not isinstance(tuples, self.accepts):
            kinds = " or ".join(kind.__name__ for kind in self.accepts) or "no tuples"
            require(False, f"{type(self).__name__} takes {kinds} from a miner; got {type(tuples).__name__}")
        labels = labels.long()
        if self.n_classes is not None and is_eager() and len(labels):
            self._require_labels(labels, self.n_classes)
        return by_kernel_or_formula(self, embeddings, labels, tuples, generator)

    def _require_labels(self, labels: Tensor, n_classes: int) -> None:
        if self._has_seen_labels and not labels.is_cpu:
            labels.new_zeros(1).expand(n_classes).index_select(0, labels)
            return
        self._has_seen_labels = True
        low, high = (int(label) for label in labels.aminmax())
        if low < 0 or high >= n_classes:
            name = type(self).__module__.rpartition(".")[2]
            known = f"the labels 0 to {n_classes - 1}, one for each of its {n_classes} classes"
            require(False, f"{name} knows {known}; got {low if low < 0 else high}")

    @abstractmethod
    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: Generator | None
    ) -> Tensor:
        """Return the loss in plain torch, twice differentiable, without a look at any value of a tensor.

        Inputs have been checked; embeddings are float32 or float64, labels int64. A batch without a positive or without
        a negative costs 0 where the loss compares pairs.
        """

    def kernel(self, inputs: LossInputs) -> KernelResult | None:
        """Return what `formula` does and its gradients, in main memory and without autograd; None to leave it to it."""
        return None


def require_batch(part: object, embeddings: Tensor, labels: Tensor) -> None:
    """Refuse, in the name of a loss or a miner, what is not a batch."""
    # A sentence is made only where it is needed: a loss is called in every step.
    is_fitting = labels.shape == embeddings.shape[:1] or (
        labels.ndim == 2 and len(labels) == len(embeddings) and getattr(part, "takes_label_sets", False)
    )
    if embeddings.ndim != 2 or not is_fitting or labels.is_floating_point():
        name, n = type(part).__name__, len(embeddings)
        require(embeddings.ndim == 2, f"{name} takes embeddings of shape (n, d); got {tuple(embeddings.shape)}")
        require(not labels.is_floating_point(), f"{name} takes integer labels; got {labels.dtype}")
        require(False, f"{name} takes one label per embedding; got {tuple(labels.shape)} labels for {n} embeddings")
