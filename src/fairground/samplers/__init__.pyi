# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.samplers.balanced import BalancedSampler
from fairground.samplers.d2_coreset import D2CoresetSampler
from fairground.samplers.distance_distribution import DistanceDistributionSampler
from fairground.samplers.fixed_tuples import FixedTuplesSampler
from fairground.samplers.frechet import FrechetSampler
from fairground.samplers.greedy_coreset import GreedyCoresetSampler
from fairground.samplers.hierarchical import HierarchicalSampler
from fairground.samplers.m_per_class import MPerClassSampler
from fairground.samplers.per_class import PerClassSampler
from fairground.samplers.per_class_random import PerClassRandomSampler
from fairground.samplers.uniform import UniformSampler

__all__ = [
    "BalancedSampler",
    "D2CoresetSampler",
    "DistanceDistributionSampler",
    "FixedTuplesSampler",
    "FrechetSampler",
    "GreedyCoresetSampler",
    "HierarchicalSampler",
    "MPerClassSampler",
    "PerClassRandomSampler",
    "PerClassSampler",
    "UniformSampler",
]
