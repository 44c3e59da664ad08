"""Cross-batch memory: any loss on pairs or triplets, its anchors compared with earlier batches too.

Formula
    L = loss(pool, labels of the pool, tuples),   pool = batch + the last `size` embeddings of earlier batches, detached
    tuples: all pairs (a, j), or all triplets (a, p, n), whose anchor a is in the batch

Paper
    Wang, Zhang, Huang and Scott, "Cross-batch memory for embedding learning", CVPR 2020, algorithm 1.

Departures from the paper
    The batch joins the memory after its loss is known, so that it is compared with itself once, both sides learning;
    the paper adds it first, and compares it with its own copy. `start` is 0; the authors wait for 1,000 steps, until
    embeddings drift slowly. Where a wrapped loss takes a mean over all rows, the memory's rows count among them: in the
    norm of embeddings of n_pair, and in multi_similarity unless its `empty` is `survivors`.
"""

from typing import Any

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import Integer, Loss, Pairs, Triplets, Tuples, require
from fairground.functional.triplets import list_triplets
from fairground.losses._wrapped_parts import build_wrapped, build_wrapped_miner


class CrossBatchMemoryLoss(Loss):
    """`loss` with `settings` is the loss wrapped; the memory holds `size` embeddings and is used from step `start` on.

    `miner` with `miner_settings` chooses among the tuples of the pool; without one all are taken, in memory that grows
    as (batch + size)^2, and for losses on triplets with the class sizes besides. The queue is filled in training mode
    only, and is part of the state. The pool grows from step to step: `torch.compile` breaks its graph there.
    """

    tunable = {"size": Integer(low=128, high=4096)}
    bounds = {"size": "[1, inf)", "start": "[0, inf)"}
    memory: Tensor
    memory_labels: Tensor
    pointer: Tensor
    filled: Tensor
    step: Tensor

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        loss: str = "contrastive",
        settings: dict[str, Any] | None = None,
        size: int = 1024,
        start: int = 0,
        miner: str | None = None,
        miner_settings: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        sizes = {"n_classes": n_classes, "embedding_dim": embedding_dim}
        self.loss: Loss = build_wrapped("cross_batch_memory", "losses", Loss, loss, settings or {}, sizes)
        wanted = "cross_batch_memory.loss must be a loss on pairs or triplets"
        require(len(self.loss.accepts) > 0, f"{wanted}; {loss} looks at the whole batch by itself")
        self.miner = build_wrapped_miner("cross_batch_memory", miner, miner_settings, self.loss)
        self.on_sphere = self.loss.on_sphere
        self.size, self.start = size, start
        self.register_buffer("memory", torch.zeros(size, embedding_dim))
        self.register_buffer("memory_labels", torch.zeros(size, dtype=torch.long))
        for count in ("pointer", "filled", "step"):
            self.register_buffer(count, torch.zeros((), dtype=torch.long))

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the wrapped loss over the batch and the memory; in training, remember the batch."""
        filled, step = torch.stack([self.filled, self.step]).tolist()
        filled = filled if step >= self.start else 0
        pool = torch.cat([embeddings, self.memory[:filled].to(embeddings.dtype)])
        pool_labels = torch.cat([labels, self.memory_labels[:filled].to(labels.dtype)])
        if self.miner is not None:
            tuples = _anchored(self.miner(pool, pool_labels, generator=generator), len(labels))
        elif filled:
            tuples = self._all_tuples(labels, pool_labels)
        value: Tensor = self.loss(pool, pool_labels, tuples, generator=generator)
        if self.training:
            self._remember(embeddings, labels)
        return value

    def known_bugs(self) -> tuple[str, ...]:
        return self.loss.known_bugs() + (() if self.miner is None else self.miner.known_bugs())

    def _all_tuples(self, labels: Tensor, pool_labels: Tensor) -> Tuples:
        same = labels.unsqueeze(1) == pool_labels
        positive = same.clone().fill_diagonal_(False)
        if Pairs in self.loss.accepts:
            return Pairs(*positive.nonzero(as_tuple=True), *(~same).nonzero(as_tuple=True))
        return list_triplets(positive, lambda anchor, _: ~same[anchor])

    @torch.no_grad()
    def _remember(self, embeddings: Tensor, labels: Tensor) -> None:
        newest = embeddings[-self.size :]
        places = (self.pointer + torch.arange(len(newest), device=labels.device)) % self.size
        self.memory[places] = newest.to(self.memory.dtype)
        self.memory_labels[places] = labels[-self.size :].long()
        self.pointer.add_(len(newest)).remainder_(self.size)
        self.filled.add_(len(newest)).clamp_max_(self.size)
        self.step.add_(1)


def _anchored(tuples: Tuples, n: int) -> Tuples:
    """Return the tuples whose anchor is one of the first n rows."""
    if isinstance(tuples, Triplets):
        chosen = tuples.anchor < n
        return Triplets(*(column[chosen] for column in tuples))
    positives, negatives = tuples[:2], tuples[2:]
    return Pairs(*(some[positives[0] < n] for some in positives), *(some[negatives[0] < n] for some in negatives))
