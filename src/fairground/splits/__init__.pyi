# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.splits.class_folds import ClassFoldsSplit
from fairground.splits.closed_set import ClosedSetSplit
from fairground.splits.half_classes import HalfClassesSplit
from fairground.splits.listed import ListedSplit
from fairground.splits.mlrc_folds import MlrcFoldsSplit
from fairground.splits.oodml_cars196 import OodmlCars196Split
from fairground.splits.random_halves import RandomHalvesSplit
from fairground.splits.rising_distance import RisingDistanceSplit
from fairground.splits.roth_validation import RothValidationSplit

__all__ = [
    "ClassFoldsSplit",
    "ClosedSetSplit",
    "HalfClassesSplit",
    "ListedSplit",
    "MlrcFoldsSplit",
    "OodmlCars196Split",
    "RandomHalvesSplit",
    "RisingDistanceSplit",
    "RothValidationSplit",
]
