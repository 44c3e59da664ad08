# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.heads.identity import IdentityHead
from fairground.heads.linear import LinearHead
from fairground.heads.mlp import MlpHead
from fairground.heads.pca import PcaHead
from fairground.heads.plda import PldaHead
from fairground.heads.residual import ResidualHead
from fairground.heads.self_distilled import SelfDistilledHead
from fairground.heads.whitened import WhitenedHead

__all__ = [
    "IdentityHead",
    "LinearHead",
    "MlpHead",
    "PcaHead",
    "PldaHead",
    "ResidualHead",
    "SelfDistilledHead",
    "WhitenedHead",
]
