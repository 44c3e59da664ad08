"""Hierarchical average precision: related classes may stand before strangers, and are paid by how related they are.

Formula
    l of L levels of labels that k shares with the query q;  rel_k = (l/L)^alpha / number of samples that share just l
    t = s_j - s_k, s the cosine with the query;  H(t) = 1[t >= 0], without gradient, where rel_j >= rel_k; else
    H(t) = sigmoid(t/T) for t <= 0,  start + sigmoid(t/T) for 0 < t <= threshold,  slope (t - threshold) + offset beyond
    rank(k) = 1 + sum_{j != k} H(t),   Hrank(k) = rel_k + sum_{j != k} min(rel_j, rel_k) 1[t >= 0]
    L = mean over q of  1 - sum_k (Hrank(k) / rank(k)) / sum_k rel_k   + calibration_weight C
    C = mean of the [positive_margin - s]_+ above 0 of one class + mean of the [s - negative_margin]_+ above 0 of two

Paper
    Ramzi, Audebert, Thome, Rambour and Bitot, "Hierarchical Average Precision Training for Pertinent Image Retrieval",
    ECCV 2022, section 3; with one level it is SupAP of Ramzi, Thome, Rambour, Audebert and Bitot, "Robust and
    Decomposable Average Precision for Image Retrieval", NeurIPS 2021, where C has the weight 1 (ROADMAP).

Departures from the paper
    The authors' code leaves the query in its own list (`query_in_ranking`); here it is left out. With their offset of
    1.44 the H falls by 0.05 at the threshold; `offset=none` makes it continuous there. HAPPIER adds a softmax over
    classes: `loss=weighted_sum` with `normalised_softmax`, weights 0.9 and 0.1.
"""

from math import exp

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Real, Tuples
from fairground.functional import mean_hinges, mean_of_parts, normalize, own_places, pair_masks, sum_over_blocks


class HierarchicalApLoss(Loss):
    """`levels` (n_classes, L) are the labels of each class, its own first, then those of ever wider super-classes.

    A data set with super-classes supplies them; without any there is one level. `temperature`, `start`, `threshold`,
    `slope` and `offset` shape the count of samples that stand too high.
    """

    tunable = {"temperature": LogReal(low=1e-3, high=0.1), "calibration_weight": Real(low=0.0, high=2.0)}
    bounds = {
        **{"temperature": "(0, inf)", "threshold": "(0, inf)", "slope": "(0, inf)", "alpha": "(0, inf)"},
        **{"start": "[0, inf)", "offset": "[0, inf)", "calibration_weight": "[0, inf)"},
        **{"positive_margin": "[-1, 1]", "negative_margin": "[-1, 1]"},
    }
    levels: Tensor | None

    def __init__(
        self,
        *,
        levels: Tensor | None = None,
        temperature: float = 0.01,
        threshold: float = 0.05,
        slope: float = 100.0,
        offset: float | None = 1.44,
        start: float = 0.5,
        alpha: float = 1.0,
        query_in_ranking: bool = False,
        calibration_weight: float = 0.0,
        positive_margin: float = 0.9,
        negative_margin: float = 0.6,
    ) -> None:
        super().__init__()
        self.register_buffer("levels", levels, persistent=False)
        self.n_classes = None if levels is None else len(levels)
        self.temperature, self.threshold, self.slope, self.start = temperature, threshold, slope, start
        self.offset = start + 1 / (1 + exp(-threshold / temperature)) if offset is None else offset
        self.alpha, self.query_in_ranking, self.calibration_weight = alpha, query_in_ranking, calibration_weight
        self.positive_margin, self.negative_margin = positive_margin, negative_margin

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        levels = labels.unsqueeze(1) if self.levels is None else self.levels[labels]

        def parts(rows: slice) -> Tensor:
            s = z[rows] @ z.T
            shared = (levels[rows].unsqueeze(1) == levels).sum(2)
            is_listed = ~own_places(labels, rows) | self.query_in_ranking
            relevance = self.relevances(shared, is_listed, levels.shape[1], s.dtype)
            return self._parts(s, relevance, is_listed, is_counted=(relevance > 0).sum(1) > self.query_in_ranking)

        loss = mean_of_parts(sum_over_blocks(parts, len(z), len(z) ** 2))
        if self.calibration_weight:
            loss = loss + self.calibration_weight * self._calibration(z, labels)
        return loss

    def relevances(self, shared: Tensor, is_listed: Tensor, n_levels: int, dtype: torch.dtype) -> Tensor:
        """Return rel (r, n) for the number of shared levels (r, n) with each query; 0 where nothing is listed."""
        level = torch.arange(1, n_levels + 1, device=shared.device, dtype=dtype).view(-1, 1, 1)
        is_at = (shared == level) & is_listed
        worth = (level / n_levels) ** self.alpha / is_at.sum(2, keepdim=True).clamp_min(1)
        return (is_at * worth).sum(0)

    def _parts(self, s: Tensor, relevance: Tensor, is_listed: Tensor, *, is_counted: Tensor) -> Tensor:
        """Return the sum over queries of 1 - H-AP, and how many queries have something to find, as (2,)."""
        # Only what is relevant has a rank that counts: (r, p, n) instead of (r, n, n).
        most = int((relevance > 0).sum(1).max()) if len(s) else 0
        places = relevance.topk(most, dim=1).indices
        own = relevance.gather(1, places)
        above = s.unsqueeze(1) - s.gather(1, places).unsqueeze(2)
        is_step = relevance.unsqueeze(1) >= own.unsqueeze(2)
        steps = (above >= 0) & is_listed.unsqueeze(1)
        soft = (above / self.temperature).sigmoid()
        soft = torch.where(above > 0, self.start + soft, soft)
        soft = torch.where(above > self.threshold, self.slope * (above - self.threshold) + self.offset, soft)
        ranks = torch.where(is_step, steps, soft * is_listed.unsqueeze(1)).sum(2)
        hierarchical_ranks = (torch.minimum(relevance.unsqueeze(1), own.unsqueeze(2)) * steps).sum(2)
        # A query with fewer relevant samples is padded with others of rel 0, which add nothing; their rank may be 0.
        shares = torch.where(own > 0, hierarchical_ranks / torch.where(own > 0, ranks, 1), 0).sum(1)
        total = relevance.sum(1)
        missed = torch.where(is_counted, 1 - shares / torch.where(is_counted, total, 1), 0)
        return torch.stack([missed.sum(), is_counted.sum().to(s.dtype)])

    def _calibration(self, z: Tensor, labels: Tensor) -> Tensor:
        s = z @ z.T
        positive, negative = pair_masks(labels)
        near = mean_hinges(torch.where(positive, self.positive_margin - s, 0), "mean_nz")
        far = mean_hinges(torch.where(negative, s - self.negative_margin, 0), "mean_nz")
        return torch.where(positive.any() & negative.any(), near + far, 0)

    def known_bugs(self) -> tuple[str, ...]:
        bug = "hierarchical_ap.query_in_ranking: each list begins with its query, a hit that is none, as in its code"
        return (bug,) if self.query_in_ranking else ()
