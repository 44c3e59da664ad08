"""Margin loss: positives within a learnable distance beta, negatives outside it, both by a margin.

Formula
    l+ = [d_ap - beta + margin]_+    l- = [beta - d_an + margin]_+
    L = (sum over triplets of  l+ + l-) / K + beta_weight * mean over triplets of beta
    K = how many l+ and l- are above 0 (`count = pairs`), or how many triplets have one above 0 (`count = tuples`)

Paper
    Wu, Manmatha, Smola and Krähenbühl, "Sampling Matters in Deep Embedding Learning", ICCV 2017, section 4.2.

Departures from the paper
    One beta for all, or one for each class of the anchor (`beta_kind`); none for each image. Wu et al. sum the betas,
    which makes their weight grow with the batch. Roth et al. print the loss without its hinge; K by tuples is what
    their code divides by, up to two times less than K by pairs.
"""

from typing import Literal

import torch
from torch import Generator, Tensor, nn

from fairground.contracts.loss import Loss, Real, Triplets, Tuples, require
from fairground.functional import mean_of_parts, pair_masks, rows_of, sum_over_rows
from fairground.functional.pair_distances import distances, distances_of_pairs, normalize
from fairground.kernels import pair_hinge_losses


class MarginLoss(Loss):
    """`beta` is where the border starts out and `margin` half the width of the strip around it.

    `beta_kind = per_class` keeps one beta for each of `n_classes`, indexed by the anchor's class.
    """

    accepts = (Triplets,)
    tunable = {"margin": Real(low=-0.2, high=2.0), "beta": Real(low=-0.2, high=2.0)}
    bounds = {"margin": "[-2, 2]", "beta": "[-2, 2]", "beta_weight": "[0, inf)"}
    is_learnable = True
    kernel = pair_hinge_losses.margin

    def __init__(
        self,
        *,
        margin: float = 0.2,
        beta: float = 1.2,
        beta_kind: Literal["scalar", "per_class"] = "scalar",
        n_classes: int | None = None,
        learn_beta: bool = True,
        beta_weight: float = 0.0,
        count: Literal["pairs", "tuples"] = "pairs",
    ) -> None:
        super().__init__()
        size = n_classes if beta_kind == "per_class" else 1
        refusal = f"margin.n_classes must be at least 1 for margin.beta_kind = 'per_class'; got {n_classes}"
        require(size is not None and size >= 1, refusal)
        self.margin, self.beta_weight, self.count = margin, beta_weight, count
        self.n_classes = n_classes if beta_kind == "per_class" else None
        self.beta = nn.Parameter(torch.full((size or 1,), float(beta)), requires_grad=learn_beta)
        self._setting = beta
        self._rounded = torch.tensor(beta, dtype=torch.float32, device="cpu").item()

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the sum over triplets over K, plus the price of beta; 0 without a triplet."""
        z = normalize(embeddings)
        beta = self.borders(labels, embeddings.dtype)
        if isinstance(tuples, Triplets):
            return self._over(z, beta[tuples.anchor], tuples)
        hinges, borders = sum_over_rows(lambda rows: self._parts(z, beta, labels, rows), len(z), len(z))
        return mean_of_parts(hinges) + self.beta_weight * mean_of_parts(borders)

    def _parts(self, z: Tensor, beta: Tensor, labels: Tensor, rows: slice) -> Tensor:
        """Return sum and count (2, 2) of the hinges of some anchors, and of the beta of their triplets."""
        d = distances(rows_of(z, rows), z)
        beta = beta[rows]
        positive, negative = pair_masks(labels, rows)
        n_positives, n_negatives = positive.sum(1), negative.sum(1)
        # A positive pair stands in as many triplets as its anchor has negatives, and the other way round.
        near = (d - beta.unsqueeze(1) + self.margin).relu() * positive
        far = (beta.unsqueeze(1) - d + self.margin).relu() * negative
        total = (near.sum(1) * n_negatives + far.sum(1) * n_positives).sum()
        n_near, n_far = (near > 0).sum(1), (far > 0).sum(1)
        n_triplets = n_positives * n_negatives
        if self.count == "pairs":
            k = n_near * n_negatives + n_far * n_positives
        else:
            k = n_triplets - (n_positives - n_near) * (n_negatives - n_far)
        parts = [total, k.sum().to(z.dtype), (beta * n_triplets).sum(), n_triplets.sum().to(z.dtype)]
        return torch.stack(parts).view(2, 2)

    def _over(self, z: Tensor, beta: Tensor, triplets: Triplets) -> Tensor:
        anchor, positive, negative = triplets
        near = (distances_of_pairs(z, anchor, positive) - beta + self.margin).relu()
        far = (beta - distances_of_pairs(z, anchor, negative) + self.margin).relu()
        is_near, is_far = near > 0, far > 0
        k = is_near.sum() + is_far.sum() if self.count == "pairs" else (is_near | is_far).sum()
        mean_beta = beta.sum() / max(1, triplets.size)
        return (near + far).sum() / k.clamp_min(1) + self.beta_weight * mean_beta

    def borders(self, labels: Tensor, dtype: torch.dtype) -> Tensor:
        beta = self.beta.to(dtype)
        # float32 cannot hold a setting such as 1.2: where beta has not moved, the setting itself is meant.
        beta = beta + torch.where(beta == self._rounded, self._setting - self._rounded, 0)
        return beta.expand(len(labels)) if self.n_classes is None else beta[labels]

    def known_bugs(self) -> tuple[str, ...]:
        bug = "margin.count = 'tuples': a triplet with two active terms is counted once, as in Roth et al. 2020 (E16)"
        return (bug,) if self.count == "tuples" else ()
