"""HIST: classes as distributions, and a hypergraph of the batch through which samples of near classes are compared.

Formula
    D_ic = sum_f (x_if - m_cf)^2 / e^(ReLU6(v_cf)),  x and the means m at unit length, v the logarithms of variances
    H_ic = 1 if y_i = c, else e^(-alpha D_ic), over the classes c of the batch
    G = Dv^(-1/2) H De^(-1) H^T Dv^(-1/2),  Dv the row sums and De the column sums of H
    L = mean of -log softmax_c(-tau D_ic)[y_i]
        + hypergraph_weight * cross-entropy of  G A_2(LeakyReLU_0.1(BN(G A_1(x))))  with A_1, A_2 affine

Paper
    Lim, Yun, Park and Choi, "Hypergraph-Induced Semantic Tuplet Loss for Deep Metric Learning", CVPR 2022, section 3.

Departures from the paper
    The logarithm of a softmax cannot underflow; the authors' code drops samples where the probability did. The batch
    norm takes the statistics of the batch only, for a loss is not used elsewhere. Their rates, 0.1 for the
    distributions and ten times the trunk's for the hypergraph, are one `optimiser.loss_lr` here.
"""

import torch
from torch import Generator, Tensor, nn

from fairground.contracts.loss import Integer, LogReal, Loss, Real, Tuples
from fairground.functional import mean_cross_entropy, normalize

#: added to the variance of a batch, as by torch's batch norm
EPSILON = 1e-5


class HistLoss(Loss):
    """`tau` scales the distances to the classes, `alpha` says how fast membership in other classes falls with them."""

    is_learnable = True
    tunable = {"tau": LogReal(low=4, high=128), "alpha": Real(low=0.1, high=2.0), "hidden": Integer(low=64, high=1024)}
    bounds = {"tau": "(0, inf)", "alpha": "[0, inf)", "hypergraph_weight": "[0, inf)", "hidden": "[1, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        tau: float = 32.0,
        alpha: float = 0.9,
        hypergraph_weight: float = 1.0,
        hidden: int = 512,
    ) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.tau, self.alpha, self.hypergraph_weight = tau, alpha, hypergraph_weight
        self.means = nn.Parameter(nn.init.kaiming_normal_(torch.empty(n_classes, embedding_dim), mode="fan_out"))
        self.log_variances = nn.Parameter(nn.init.kaiming_normal_(torch.empty_like(self.means), mode="fan_out"))
        self.first, self.second = nn.Linear(embedding_dim, hidden), nn.Linear(hidden, n_classes)
        self.scale, self.shift = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.zeros(hidden))

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        x = normalize(embeddings)
        squares = self.squared_distances(x)
        loss = mean_cross_entropy(-self.tau * squares, labels)
        if self.hypergraph_weight == 0 or len(x) == 0:
            return loss
        members = self.memberships(squares, labels)
        by_row = members * members.sum(1, keepdim=True).rsqrt()
        spread = (by_row / members.sum(0).clamp_min(1)) @ by_row.T
        hidden = spread @ nn.functional.linear(x, *(value.to(x.dtype) for value in self.first.parameters()))
        centred = hidden - hidden.mean(0)
        hidden = centred * (centred.square().mean(0) + EPSILON).rsqrt() * self.scale + self.shift
        hidden = nn.functional.leaky_relu(hidden, 0.1)
        logits = spread @ nn.functional.linear(hidden, *(value.to(x.dtype) for value in self.second.parameters()))
        return loss + self.hypergraph_weight * mean_cross_entropy(logits, labels)

    def squared_distances(self, x: Tensor) -> Tensor:
        """Return D (n, n_classes) of unit vectors (n, d)."""
        means = normalize(self.means.to(x.dtype))
        precisions = (-nn.functional.relu6(self.log_variances.to(x.dtype))).exp()
        own = (means.square() * precisions).sum(1)
        return (x.square() @ precisions.T - 2 * x @ (means * precisions).T + own).clamp_min(0)

    def memberships(self, squares: Tensor, labels: Tensor) -> Tensor:
        """Return H (n, n_classes), 0 for the classes that are not in the batch."""
        is_own = labels.unsqueeze(1) == torch.arange(squares.shape[1], device=labels.device)
        return torch.where(is_own, 1, (-self.alpha * squares).exp()) * is_own.any(0)
