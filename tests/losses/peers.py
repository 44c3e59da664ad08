"""Which loss of pytorch-metric-learning is the same function as which of ours, under which settings.

The tests compare values and gradients over this table, the benchmark compares times.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import degrees, pi

import torch
from torch import Tensor, nn

from tests.losses.fixtures import build

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pytorch_metric_learning import distances, losses, regularizers


@dataclass(frozen=True, kw_only=True)
class Peer:
    """`theirs` builds the peer's loss from (n_classes, embedding_dim); `weights` says how ours lie in its parameter.

    `needs` restricts the inputs to those for which both define the same: "unit" embeddings, "pairs" (every class has
    the same number of samples, at least 2), "square" (as many classes as samples in each), or "never", for losses that
    share an idea and are only timed. `tolerance` is relative.
    """

    theirs: Callable[[int, int], nn.Module]
    ours: dict[str, object] = field(default_factory=dict)
    weights: Callable[[nn.Module, Tensor], None] | None = None
    needs: tuple[str, ...] = ()
    tolerance: float = 1e-9
    why: str = ""


def _into(name: str, parameter: str) -> Callable[[nn.Module, Tensor], None]:
    """Copy class vectors (C, D) or (C, K, D) into a peer's parameter, transposed where it keeps columns."""

    def copy(theirs: nn.Module, weights: Tensor) -> None:
        rows = weights.detach().flatten(0, -2)
        kept = getattr(theirs, parameter)
        kept.data = (rows.T if name == "columns" else rows).contiguous().clone()

    return copy


def _margin(**settings: float) -> Callable[[int, int], nn.Module]:
    """Build the peer's margin loss with its border in float64, which its own float32 cannot say exactly."""

    def make(n_classes: int, embedding_dim: int) -> nn.Module:
        loss: nn.Module = losses.MarginLoss(learn_beta=True, **settings).double()
        nn.init.constant_(loss.beta, settings.get("beta", 1.2))
        return loss

    return make


_COLUMNS = _into("columns", "W")
_ROWS = _into("rows", "proxies")

PEERS: dict[str, list[Peer]] = {
    "contrastive": [
        Peer(theirs=lambda c, d: losses.ContrastiveLoss()),
        Peer(
            ours={"positive_margin": 0.2652, "negative_margin": 0.5409},
            theirs=lambda c, d: losses.ContrastiveLoss(pos_margin=0.2652, neg_margin=0.5409),
        ),
    ],
    "triplet": [
        Peer(theirs=lambda c, d: losses.TripletMarginLoss(margin=0.1)),
        Peer(
            ours={"margin": 0.2, "power": 2},
            theirs=lambda c, d: losses.TripletMarginLoss(margin=0.2, distance=distances.LpDistance(power=2)),
        ),
        Peer(ours={"swap": True}, theirs=lambda c, d: losses.TripletMarginLoss(margin=0.1, swap=True)),
        Peer(ours={"smooth": True}, theirs=lambda c, d: losses.TripletMarginLoss(margin=0.1, smooth_loss=True)),
        Peer(
            ours={"smooth": True, "swap": True, "margin": -0.1},
            theirs=lambda c, d: losses.TripletMarginLoss(margin=-0.1, smooth_loss=True, swap=True),
        ),
    ],
    "margin": [
        Peer(theirs=_margin()),
        Peer(ours={"margin": 0.1, "beta": 0.8, "beta_weight": 0.3}, theirs=_margin(margin=0.1, beta=0.8, nu=0.3)),
        Peer(ours={"beta_kind": "per_class"}, theirs=lambda c, d: _margin(num_classes=c)(c, d)),
    ],
    "snr": [
        Peer(theirs=lambda c, d: losses.SignalToNoiseRatioContrastiveLoss(pos_margin=0, neg_margin=1)),
        Peer(
            ours={"positive_margin": 0.3, "negative_margin": 0.8, "zero_mean_weight": 0.1382},
            theirs=lambda c, d: losses.SignalToNoiseRatioContrastiveLoss(
                pos_margin=0.3,
                neg_margin=0.8,
                embedding_regularizer=regularizers.ZeroMeanRegularizer(),
                embedding_reg_weight=0.1382,
            ),
            needs=("unit",),
            why="the peer's penalty is on the raw embeddings",
        ),
    ],
    "n_pair": [
        Peer(ours={"positives": "one_per_class", "normalise": True}, theirs=lambda c, d: losses.NPairsLoss()),
        Peer(
            ours={"positives": "one_per_class"},
            theirs=lambda c, d: losses.NPairsLoss(distance=distances.DotProductSimilarity(normalize_embeddings=False)),
        ),
    ],
    "nt_xent": [Peer(ours={"temperature": 0.1}, theirs=lambda c, d: losses.NTXentLoss(temperature=0.1))],
    "angular": [
        Peer(
            ours={"alpha": 40.0},
            theirs=lambda c, d: losses.AngularLoss(alpha=40),
            needs=("unit",),
            why="the peer normalises anchors and positives but not negatives",
        )
    ],
    "lifted_structure": [Peer(theirs=lambda c, d: losses.LiftedStructureLoss(neg_margin=1, pos_margin=0))],
    "generalised_lifted_structure": [
        Peer(
            ours={"normalise": True},
            theirs=lambda c, d: losses.GeneralizedLiftedStructureLoss(neg_margin=1, pos_margin=0),
            needs=("pairs",),
            why="the peer counts an anchor without positives, with 0 for its empty sum",
        )
    ],
    "multi_similarity": [Peer(theirs=lambda c, d: losses.MultiSimilarityLoss(alpha=2, beta=40, base=0.5))],
    "sup_con": [Peer(theirs=lambda c, d: losses.SupConLoss(temperature=0.1))],
    "circle": [Peer(theirs=lambda c, d: losses.CircleLoss(m=0.4, gamma=80))],
    "nca": [Peer(theirs=lambda c, d: losses.NCALoss(softmax_scale=1))],
    "tuplet_margin": [Peer(theirs=lambda c, d: losses.TupletMarginLoss(margin=5.73, scale=64))],
    "histogram": [
        Peer(
            theirs=lambda c, d: losses.HistogramLoss(n_bins=64),
            needs=("pairs",),
            why="the peer builds its pairs from triplets and so never counts a pair of two singletons",
        )
    ],
    "fast_ap": [Peer(theirs=lambda c, d: losses.FastAPLoss(num_bins=10))],
    "ranked_list": [
        Peer(
            ours={"weights": "differentiated", "negative_temperature": 5.0},
            theirs=lambda c, d: losses.RankedListLoss(margin=0.4, Tn=5, alpha=1.2, Tp=0),
            tolerance=5e-3,
            why="the peer adds 1e-5 a sample to the sums of weights",
        )
    ],
    "smooth_ap": [
        Peer(
            ours={"query_in_ranking": True},
            theirs=lambda c, d: losses.SmoothAPLoss(temperature=0.01),
            needs=("square",),
            tolerance=1e-6,
            why="the peer cuts the batch into groups of as many samples as there are classes, and sums in float32",
        )
    ],
    "cross_batch_memory": [
        Peer(
            theirs=lambda c, d: losses.CrossBatchMemory(losses.ContrastiveLoss(), d, memory_size=1024),
            needs=("never",),
            why="the peer puts the batch into the memory first and compares it with that copy, which does not learn",
        )
    ],
    "arc_face": [
        Peer(
            theirs=lambda c, d: losses.ArcFaceLoss(c, d, margin=degrees(0.5), scale=64),
            weights=_COLUMNS,
        )
    ],
    "cos_face": [Peer(theirs=lambda c, d: losses.CosFaceLoss(c, d, margin=0.35, scale=64), weights=_COLUMNS)],
    "sphere_face": [
        Peer(
            ours={"margin": 4, "cosine_weight": 0.0},
            theirs=lambda c, d: losses.SphereFaceLoss(c, d, margin=4, scale=1),
            weights=_COLUMNS,
        )
    ],
    "normalised_softmax": [
        Peer(theirs=lambda c, d: losses.NormalizedSoftmaxLoss(c, d, temperature=0.05), weights=_COLUMNS)
    ],
    "sub_centre_arc_face": [
        Peer(
            theirs=lambda c, d: losses.SubCenterArcFaceLoss(
                num_classes=c, embedding_size=d, margin=0.5 * 180 / pi, scale=64
            ),
            weights=_COLUMNS,
        )
    ],
    "proxy_nca": [Peer(theirs=lambda c, d: losses.ProxyNCALoss(c, d, softmax_scale=9), weights=_ROWS)],
    "proxy_anchor": [Peer(theirs=lambda c, d: losses.ProxyAnchorLoss(c, d, margin=0.1, alpha=32), weights=_ROWS)],
    "soft_triple": [
        Peer(ours={"reg_weight": 0.0}, theirs=losses.SoftTripleLoss, weights=_into("columns", "fc")),
        Peer(
            ours={"scale": 8.0, "n_centres": 2},
            theirs=lambda c, d: losses.SoftTripleLoss(
                c,
                d,
                centers_per_class=2,
                la=8,
                weight_regularizer=regularizers.SparseCentersRegularizer(c, 2),
                weight_reg_weight=0.2,
            ),
            weights=_into("columns", "fc"),
        ),
    ],
}


def pair_up(
    peer: Peer, name: str, n_classes: int, embedding_dim: int, dtype: torch.dtype
) -> tuple[nn.Module, nn.Module]:
    """Return our loss and the peer's, with the same class vectors where they have any."""
    ours = build(name, n_classes=n_classes, embedding_dim=embedding_dim, **peer.ours).to(dtype)
    theirs = peer.theirs(n_classes, embedding_dim).to(dtype)
    if peer.weights is not None:
        largest = max(ours.parameters(), key=Tensor.numel)
        peer.weights(theirs, largest)
    return ours, theirs
