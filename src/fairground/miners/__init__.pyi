# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.miners.all_hard import AllHardMiner
from fairground.miners.all_semihard import AllSemihardMiner
from fairground.miners.all_tuples import AllTuplesMiner
from fairground.miners.distance_weighted import DistanceWeightedMiner
from fairground.miners.easy_positive import EasyPositiveMiner
from fairground.miners.hardest import HardestMiner
from fairground.miners.multi_similarity import MultiSimilarityMiner
from fairground.miners.random import RandomMiner
from fairground.miners.rho_distance import RhoDistanceMiner
from fairground.miners.semihard import SemihardMiner
from fairground.miners.softhard import SofthardMiner

__all__ = [
    "AllHardMiner",
    "AllSemihardMiner",
    "AllTuplesMiner",
    "DistanceWeightedMiner",
    "EasyPositiveMiner",
    "HardestMiner",
    "MultiSimilarityMiner",
    "RandomMiner",
    "RhoDistanceMiner",
    "SemihardMiner",
    "SofthardMiner",
]
