"""S2SD, self-distillation: any loss on an embedding that also imitates the similarities of wider embeddings beside it.

Formula
    z the embedding, e_1 .. e_K those of the branches, f the trunk's features; S_x the cosines of the batch under x
    L = (loss(z) + mean_k loss_k(e_k)) / 2 + weight * mean_k KL(S_z, S_{e_k})
        + feature_weight * KL(S_z, S_f) from step `feature_start` on
    KL(A, B) = (T^2 / n) sum over rows and entries of softmax(B/T) (log softmax(B/T) - log softmax(A/T)),  B constant

Paper
    Roth, Milbich, Ommer, Cohen and Ghassemi, "Simultaneous Similarity-based Self-Distillation for Deep Metric
    Learning", ICML 2021, section 3.

Departures from the paper
    None in the loss; the branches are those of `head=self_distilled`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from fairground.contracts.loss import LogReal, Loss, Tuples, require
from fairground.functional import normalize
from fairground.losses._wrapped_parts import build_wrapped, build_wrapped_miner


class SelfDistillationLoss(Loss):
    """`loss` with `settings` is the loss of the embedding and, with weights of its own, of every branch.

    `miner` with `miner_settings` mines for each by itself. `branches` are the widths of the branches, supplied by
    `head=self_distilled`, which in training gives z, e_1 .. e_K and f side by side; without any, z is all there is.
    """

    is_learnable = True
    tunable = {"weight": LogReal(low=1, high=500), "temperature": LogReal(low=0.1, high=10)}
    bounds = {
        "weight": "[0, inf)",
        "temperature": "(0, inf)",
        "feature_weight": "[0, inf)",
        "feature_start": "[0, inf)",
    }
    step: Tensor

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        branches: Sequence[int] | None = None,
        loss: str = "margin",
        settings: dict[str, Any] | None = None,
        miner: str | None = None,
        miner_settings: dict[str, Any] | None = None,
        weight: float = 50.0,
        temperature: float = 1.0,
        feature_weight: float = 0.0,
        feature_start: int = 1000,
    ) -> None:
        super().__init__()
        refusal = "loss self_distillation learns from the branches of a head, and this head has none"
        require(branches is None or len(branches) > 0, f"{refusal}; set head=self_distilled")
        self.widths = [embedding_dim, *(branches or ())]
        sizes = [{"n_classes": n_classes, "embedding_dim": width} for width in self.widths]
        made = [build_wrapped("self_distillation", "losses", Loss, loss, settings or {}, size) for size in sizes]
        self.losses, self.bugs = nn.ModuleList(made), made[0].known_bugs()
        self.n_classes, self.on_sphere = made[0].n_classes, made[0].on_sphere
        self.is_random = made[0].is_random or miner is not None
        self.miner = build_wrapped_miner("self_distillation", miner, miner_settings, made[0])
        self.weight, self.temperature = weight, temperature
        self.feature_weight, self.feature_start = feature_weight, feature_start
        self.register_buffer("step", torch.tensor(0))

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        n_wide = sum(self.widths)
        wanted = f"embedding and branches side by side, {' + '.join(map(str, self.widths))} numbers"
        require(embeddings.shape[1] >= n_wide, f"self_distillation takes {wanted}; got {embeddings.shape[1]}")
        views = torch.split_with_sizes(embeddings[:, :n_wide], self.widths, 1)
        values = []
        for loss, view in zip(self.losses, views, strict=True):
            mined = None if self.miner is None else self.miner(view, labels, generator=generator)
            values.append(loss(view, labels, mined, generator=generator))
        if len(values) == 1:
            return values[0]
        z = views[0]
        relations = [relation_divergence(z, view, self.temperature) for view in views[1:]]
        total = (values[0] + torch.stack(values[1:]).mean()) / 2 + self.weight * torch.stack(relations).mean()
        if self.feature_weight == 0:
            return total
        is_begun = self.step >= self.feature_start
        if self.training:
            self.step += 1
        return total + self.feature_weight * is_begun * relation_divergence(z, embeddings[:, n_wide:], self.temperature)

    def known_bugs(self) -> tuple[str, ...]:
        return self.bugs


def relation_divergence(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Return how far the rows of cosines of the student (n, d) are from those of the teacher (n, d'), held constant."""
    own, target = (normalize(vectors) for vectors in (student, teacher.detach()))
    log_own, log_target = ((unit @ unit.T / temperature).log_softmax(1) for unit in (own, target))
    return temperature**2 * (log_target.exp() * (log_target - log_own)).sum() / max(1, len(student))
