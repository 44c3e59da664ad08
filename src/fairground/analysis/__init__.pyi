# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.analysis.alignment import AlignmentAnalysis
from fairground.analysis.class_spectra import ClassSpectraAnalysis
from fairground.analysis.collapse import CollapseAnalysis
from fairground.analysis.densities import DensitiesAnalysis
from fairground.analysis.effective_rank import EffectiveRankAnalysis
from fairground.analysis.hubness import HubnessAnalysis
from fairground.analysis.pi import PiAnalysis
from fairground.analysis.rho import RhoAnalysis
from fairground.analysis.spectrum import SpectrumAnalysis
from fairground.analysis.uniformity import UniformityAnalysis

__all__ = [
    "AlignmentAnalysis",
    "ClassSpectraAnalysis",
    "CollapseAnalysis",
    "DensitiesAnalysis",
    "EffectiveRankAnalysis",
    "HubnessAnalysis",
    "PiAnalysis",
    "RhoAnalysis",
    "SpectrumAnalysis",
    "UniformityAnalysis",
]
