# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.losses.adaface import AdafaceLoss
from fairground.losses.adasp import AdaspLoss
from fairground.losses.angular import AngularLoss
from fairground.losses.arc_face import ArcFaceLoss
from fairground.losses.centre import CentreLoss
from fairground.losses.circle import CircleLoss
from fairground.losses.contrastive import ContrastiveLoss
from fairground.losses.cos_face import CosFaceLoss
from fairground.losses.cross_batch_memory import CrossBatchMemoryLoss
from fairground.losses.elasticface import ElasticfaceLoss
from fairground.losses.fast_ap import FastApLoss
from fairground.losses.generalised_lifted_structure import GeneralisedLiftedStructureLoss
from fairground.losses.hierarchical_ap import HierarchicalApLoss
from fairground.losses.hist import HistLoss
from fairground.losses.histogram import HistogramLoss
from fairground.losses.lifted_structure import LiftedStructureLoss
from fairground.losses.magface import MagfaceLoss
from fairground.losses.margin import MarginLoss
from fairground.losses.matryoshka import MatryoshkaLoss
from fairground.losses.multi_similarity import MultiSimilarityLoss
from fairground.losses.n_pair import NPairLoss
from fairground.losses.nca import NcaLoss
from fairground.losses.normalised_softmax import NormalisedSoftmaxLoss
from fairground.losses.nt_xent import NtXentLoss
from fairground.losses.pairwise_cross_entropy import PairwiseCrossEntropyLoss
from fairground.losses.proxy_anchor import ProxyAnchorLoss
from fairground.losses.proxy_nca import ProxyNcaLoss
from fairground.losses.proxy_nca_pp import ProxyNcaPpLoss
from fairground.losses.quadruplet import QuadrupletLoss
from fairground.losses.ranked_list import RankedListLoss
from fairground.losses.recall_at_k import RecallAtKLoss
from fairground.losses.self_distillation import SelfDistillationLoss
from fairground.losses.sigmoid_pairs import SigmoidPairsLoss
from fairground.losses.smooth_ap import SmoothApLoss
from fairground.losses.snr import SnrLoss
from fairground.losses.soft_triple import SoftTripleLoss
from fairground.losses.sphere_face import SphereFaceLoss
from fairground.losses.sub_centre_arc_face import SubCentreArcFaceLoss
from fairground.losses.sup_con import SupConLoss
from fairground.losses.triplet import TripletLoss
from fairground.losses.tuplet_margin import TupletMarginLoss
from fairground.losses.unified_cross_entropy import UnifiedCrossEntropyLoss
from fairground.losses.weighted_sum import WeightedSumLoss

__all__ = [
    "AdafaceLoss",
    "AdaspLoss",
    "AngularLoss",
    "ArcFaceLoss",
    "CentreLoss",
    "CircleLoss",
    "ContrastiveLoss",
    "CosFaceLoss",
    "CrossBatchMemoryLoss",
    "ElasticfaceLoss",
    "FastApLoss",
    "GeneralisedLiftedStructureLoss",
    "HierarchicalApLoss",
    "HistLoss",
    "HistogramLoss",
    "LiftedStructureLoss",
    "MagfaceLoss",
    "MarginLoss",
    "MatryoshkaLoss",
    "MultiSimilarityLoss",
    "NPairLoss",
    "NcaLoss",
    "NormalisedSoftmaxLoss",
    "NtXentLoss",
    "PairwiseCrossEntropyLoss",
    "ProxyAnchorLoss",
    "ProxyNcaLoss",
    "ProxyNcaPpLoss",
    "QuadrupletLoss",
    "RankedListLoss",
    "RecallAtKLoss",
    "SelfDistillationLoss",
    "SigmoidPairsLoss",
    "SmoothApLoss",
    "SnrLoss",
    "SoftTripleLoss",
    "SphereFaceLoss",
    "SubCentreArcFaceLoss",
    "SupConLoss",
    "TripletLoss",
    "TupletMarginLoss",
    "UnifiedCrossEntropyLoss",
    "WeightedSumLoss",
]
