"""Which loss of pytorch-metric-learning is timed against which of ours, under which settings.

`docs/migration.md` shows the same pairs and `tests/migration` compares their values and gradients. The memory alone is
another function: the peer puts the batch into the memory first and compares it with that copy, which does not learn.
"""

import warnings
from collections.abc import Callable
from math import degrees

from torch import nn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pytorch_metric_learning import losses

#: our settings, and what builds the peer's loss from (n_classes, embedding_dim)
PEERS: dict[str, tuple[dict[str, object], Callable[[int, int], nn.Module]]] = {
    "contrastive": ({}, lambda *_: losses.ContrastiveLoss()),
    "triplet": ({}, lambda *_: losses.TripletMarginLoss(margin=0.1)),
    "margin": ({}, lambda *_: losses.MarginLoss(learn_beta=True)),
    "snr": ({}, lambda *_: losses.SignalToNoiseRatioContrastiveLoss(pos_margin=0, neg_margin=1)),
    "n_pair": ({"positives": "one_per_class", "normalise": True}, lambda *_: losses.NPairsLoss()),
    "nt_xent": ({"temperature": 0.1}, lambda *_: losses.NTXentLoss(temperature=0.1)),
    "angular": ({"alpha": 40.0}, lambda *_: losses.AngularLoss(alpha=40)),
    "lifted_structure": ({}, lambda *_: losses.LiftedStructureLoss(neg_margin=1, pos_margin=0)),
    "generalised_lifted_structure": (
        {"normalise": True},
        lambda *_: losses.GeneralizedLiftedStructureLoss(neg_margin=1, pos_margin=0),
    ),
    "multi_similarity": ({}, lambda *_: losses.MultiSimilarityLoss(alpha=2, beta=40, base=0.5)),
    "sup_con": ({}, lambda *_: losses.SupConLoss(temperature=0.1)),
    "circle": ({}, lambda *_: losses.CircleLoss(m=0.4, gamma=80)),
    "nca": ({}, lambda *_: losses.NCALoss(softmax_scale=1)),
    "tuplet_margin": ({}, lambda *_: losses.TupletMarginLoss(margin=5.73, scale=64)),
    "histogram": ({}, lambda *_: losses.HistogramLoss(n_bins=64)),
    "fast_ap": ({}, lambda *_: losses.FastAPLoss(num_bins=10)),
    "ranked_list": (
        {"weights": "differentiated", "negative_temperature": 5.0},
        lambda *_: losses.RankedListLoss(margin=0.4, Tn=5, alpha=1.2, Tp=0),
    ),
    "cross_batch_memory": ({}, lambda _, d: losses.CrossBatchMemory(losses.ContrastiveLoss(), d, memory_size=1024)),
    "arc_face": ({}, lambda c, d: losses.ArcFaceLoss(c, d, margin=degrees(0.5), scale=64)),
    "cos_face": ({}, lambda c, d: losses.CosFaceLoss(c, d, margin=0.35, scale=64)),
    "sphere_face": ({"margin": 4, "cosine_weight": 0.0}, lambda c, d: losses.SphereFaceLoss(c, d, margin=4, scale=1)),
    "normalised_softmax": ({}, lambda c, d: losses.NormalizedSoftmaxLoss(c, d, temperature=0.05)),
    "sub_centre_arc_face": (
        {},
        lambda c, d: losses.SubCenterArcFaceLoss(num_classes=c, embedding_size=d, margin=degrees(0.5), scale=64),
    ),
    "proxy_nca": ({}, lambda c, d: losses.ProxyNCALoss(c, d, softmax_scale=9)),
    "proxy_anchor": ({}, lambda c, d: losses.ProxyAnchorLoss(c, d, margin=0.1, alpha=32)),
    "soft_triple": ({"reg_weight": 0.0}, losses.SoftTripleLoss),
}
