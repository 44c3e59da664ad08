# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.regularisers.embedding_norm import EmbeddingNormRegulariser
from fairground.regularisers.manifold_mixup import ManifoldMixupRegulariser
from fairground.regularisers.rho import RhoRegulariser
from fairground.regularisers.soft_triple_centres import SoftTripleCentresRegulariser
from fairground.regularisers.threshold_consistent_margin import ThresholdConsistentMarginRegulariser
from fairground.regularisers.zero_mean import ZeroMeanRegulariser

__all__ = [
    "EmbeddingNormRegulariser",
    "ManifoldMixupRegulariser",
    "RhoRegulariser",
    "SoftTripleCentresRegulariser",
    "ThresholdConsistentMarginRegulariser",
    "ZeroMeanRegulariser",
]
