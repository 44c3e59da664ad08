# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.metrics.acg import AcgMetric
from fairground.metrics.ami import AmiMetric
from fairground.metrics.asi import AsiMetric
from fairground.metrics.dir import DirMetric
from fairground.metrics.eer import EerMetric
from fairground.metrics.f1 import F1Metric
from fairground.metrics.fnmr import FnmrMetric
from fairground.metrics.hierarchical_ap import HierarchicalApMetric
from fairground.metrics.level_ap import LevelApMetric
from fairground.metrics.map import MapMetric
from fairground.metrics.map_at_c import MapAtCMetric
from fairground.metrics.map_at_r import MapAtRMetric
from fairground.metrics.mrr import MrrMetric
from fairground.metrics.ndcg import NdcgMetric
from fairground.metrics.nmi import NmiMetric
from fairground.metrics.open_set_auroc import OpenSetAurocMetric
from fairground.metrics.opis import OpisMetric
from fairground.metrics.oscr import OscrMetric
from fairground.metrics.precision import PrecisionMetric
from fairground.metrics.precision_at_c import PrecisionAtCMetric
from fairground.metrics.purity import PurityMetric
from fairground.metrics.r_precision import RPrecisionMetric
from fairground.metrics.recall import RecallMetric
from fairground.metrics.roc_auc import RocAucMetric
from fairground.metrics.weighted_map import WeightedMapMetric

__all__ = [
    "AcgMetric",
    "AmiMetric",
    "AsiMetric",
    "DirMetric",
    "EerMetric",
    "F1Metric",
    "FnmrMetric",
    "HierarchicalApMetric",
    "LevelApMetric",
    "MapAtCMetric",
    "MapAtRMetric",
    "MapMetric",
    "MrrMetric",
    "NdcgMetric",
    "NmiMetric",
    "OpenSetAurocMetric",
    "OpisMetric",
    "OscrMetric",
    "PrecisionAtCMetric",
    "PrecisionMetric",
    "PurityMetric",
    "RPrecisionMetric",
    "RecallMetric",
    "RocAucMetric",
    "WeightedMapMetric",
]
