"""Weighted sum: several losses on the same embeddings, added up.

Formula
    L = sum_k weights_k L_k(x, y)

Paper
    None; common practice.

Departures from the paper
    None.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch import Generator, Tensor, nn, stack

from fairground.contracts.loss import Loss, Pairs, Triplets, Tuples, require
from fairground.contracts.miner import Miner
from fairground.losses._wrapped_parts import build_wrapped, build_wrapped_miner, checked_weights
from fairground.spec import nearest


class WeightedSumLoss(Loss):
    """`losses` by name, in Python also as modules, yours too; `weights` one number each, by default all 1.

    `settings` are those of the losses by dotted name: `loss.settings.triplet.margin=0.2`; `miners` are the miners of
    some losses: `loss.miners.triplet=semihard`. Tuples of the run's miner go to the other losses of fairground that
    take them; the rest see the whole batch. Embeddings are evaluated at unit length if all losses compare unit vectors.
    """

    is_learnable = True

    def __init__(
        self,
        *,
        n_classes: int | None = None,
        embedding_dim: int | None = None,
        levels: Tensor | None = None,
        losses: Sequence[Any] = ("triplet", "normalised_softmax"),
        weights: Sequence[float] = (),
        settings: Mapping[str, Any] | None = None,
        miners: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        require(len(losses) >= 1, "weighted_sum.losses must name one loss at least; got none")
        of: dict[str, dict[str, Any]] = {loss: {} for loss in losses if isinstance(loss, str)}
        for name, value in (settings or {}).items():
            loss, _, setting = name.partition(".")
            require(loss in of, f"weighted_sum.settings.{name} is of none of its losses.{nearest(loss, of)}")
            of[loss][setting] = value
        sizes: dict[str, Any] = {"n_classes": n_classes, "embedding_dim": embedding_dim, "levels": levels}
        self.weights = checked_weights("weighted_sum", weights, len(losses), "loss")
        self.losses = nn.ModuleList(
            build_wrapped("weighted_sum", "losses", Loss, loss, of[loss], sizes) if isinstance(loss, str) else loss
            for loss in losses
        )
        self.miners: list[Miner | None] = [None] * len(losses)
        for name, miner in (miners or {}).items():
            require(name in of, f"weighted_sum.miners.{name} is of none of its losses.{nearest(name, of)}")
            place = list(losses).index(name)
            self.miners[place] = build_wrapped_miner("weighted_sum", miner, None, cast(Loss, self.losses[place]))
        ours = [loss for loss in self.losses if isinstance(loss, Loss)]
        self.accepts = tuple(kind for kind in (Triplets, Pairs) if any(kind in loss.accepts for loss in ours))
        self.on_sphere = all(loss.on_sphere for loss in ours)
        self.is_random = any(loss.is_random for loss in ours) or bool(miners)
        self.n_classes = min((loss.n_classes for loss in ours if loss.n_classes is not None), default=None)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        values = []
        for weight, loss, miner in zip(self.weights, self.losses, self.miners, strict=True):
            own: dict[str, Any] = {}
            if isinstance(loss, Loss):
                mined = tuples if miner is None else miner(embeddings, labels, generator=generator)
                own = {"tuples": mined if isinstance(mined, loss.accepts) else None, "generator": generator}
            values.append(weight * loss(embeddings, labels, **own))
        return stack(values).sum()

    def known_bugs(self) -> tuple[str, ...]:
        parts = (*self.losses, *self.miners)
        return tuple(bug for part in parts if isinstance(part, Loss | Miner) for bug in part.known_bugs())
