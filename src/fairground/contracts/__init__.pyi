# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.contracts.analysis import Analysis
from fairground.contracts.analysis import EmbeddingSpace
from fairground.contracts.analysis import Findings
from fairground.contracts.dataset import Dataset
from fairground.contracts.dataset import ImageTable
from fairground.contracts.dataset import Images
from fairground.contracts.dataset import label_sets_of
from fairground.contracts.dataset import require_tree
from fairground.contracts.kernel_or_formula import KernelResult
from fairground.contracts.kernel_or_formula import LossInputs
from fairground.contracts.kernel_or_formula import by_kernel_or_formula
from fairground.contracts.kernel_or_formula import is_eager
from fairground.contracts.kernel_or_formula import is_transformed
from fairground.contracts.loss import Loss
from fairground.contracts.loss import Pairs
from fairground.contracts.loss import Triplets
from fairground.contracts.loss import Tuples
from fairground.contracts.loss import as_pairs
from fairground.contracts.loss import require_batch
from fairground.contracts.metric import ClusteringMetric
from fairground.contracts.metric import ConsistencyMetric
from fairground.contracts.metric import Contingency
from fairground.contracts.metric import Metric
from fairground.contracts.metric import OpenSet
from fairground.contracts.metric import OpenSetMetric
from fairground.contracts.metric import PairShares
from fairground.contracts.metric import Ranking
from fairground.contracts.metric import RankingMetric
from fairground.contracts.metric import Verification
from fairground.contracts.metric import VerificationMetric
from fairground.contracts.miner import Miner
from fairground.contracts.part import Part
from fairground.contracts.pooling import Pooling
from fairground.contracts.pooling import pooled
from fairground.contracts.regulariser import Regulariser
from fairground.contracts.sampler import BatchSampler
from fairground.contracts.sampler import Labels
from fairground.contracts.sampler import label_tensor
from fairground.contracts.split import Split
from fairground.contracts.split import SplitRows
from fairground.contracts.trunk_head_transform import AffineHead
from fairground.contracts.trunk_head_transform import Augmentation
from fairground.contracts.trunk_head_transform import Batch
from fairground.contracts.trunk_head_transform import Device
from fairground.contracts.trunk_head_transform import Head
from fairground.contracts.trunk_head_transform import IMAGENET
from fairground.contracts.trunk_head_transform import InColour
from fairground.contracts.trunk_head_transform import Mixing
from fairground.contracts.trunk_head_transform import PhotoTrunk
from fairground.contracts.trunk_head_transform import PlannedTransform
from fairground.contracts.trunk_head_transform import Preprocessing
from fairground.contracts.trunk_head_transform import PublishedWeights
from fairground.contracts.trunk_head_transform import Transform
from fairground.contracts.trunk_head_transform import Trunk
from fairground.contracts.trunk_head_transform import mix
from fairground.errors import ClusterError
from fairground.errors import DamageWarning
from fairground.errors import DataError
from fairground.errors import DivergedError
from fairground.errors import FairgroundError
from fairground.errors import InputError
from fairground.errors import PictureError
from fairground.errors import SealError
from fairground.errors import StoreError
from fairground.errors import folded_name
from fairground.errors import nearest
from fairground.errors import require
from fairground.errors import require_within
from fairground.files import CsvTable
from fairground.files import LockedError
from fairground.files import append_line
from fairground.files import cache_folder
from fairground.files import cannot_write
from fairground.files import file_digests
from fairground.files import held
from fairground.files import is_at_work
from fairground.files import open_file
from fairground.files import parse_json
from fairground.files import parse_with_digest
from fairground.files import put_away
from fairground.files import read_bytes
from fairground.files import read_csv
from fairground.files import read_json
from fairground.files import read_text
from fairground.files import read_with_digest
from fairground.files import reading
from fairground.files import require_file
from fairground.files import shown
from fairground.files import sweep
from fairground.files import write_atomically
from fairground.files import write_to_disk
from fairground.files import write_with_digest
from fairground.files import writing

__all__ = [
    "AffineHead",
    "Analysis",
    "Augmentation",
    "Batch",
    "BatchSampler",
    "ClusterError",
    "ClusteringMetric",
    "ConsistencyMetric",
    "Contingency",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "Dataset",
    "Device",
    "DivergedError",
    "EmbeddingSpace",
    "FairgroundError",
    "Findings",
    "Head",
    "IMAGENET",
    "ImageTable",
    "Images",
    "InColour",
    "InputError",
    "KernelResult",
    "Labels",
    "LockedError",
    "Loss",
    "LossInputs",
    "Metric",
    "Miner",
    "Mixing",
    "OpenSet",
    "OpenSetMetric",
    "PairShares",
    "Pairs",
    "Part",
    "PhotoTrunk",
    "PictureError",
    "PlannedTransform",
    "Pooling",
    "Preprocessing",
    "PublishedWeights",
    "Ranking",
    "RankingMetric",
    "Regulariser",
    "SealError",
    "Split",
    "SplitRows",
    "StoreError",
    "Transform",
    "Triplets",
    "Trunk",
    "Tuples",
    "Verification",
    "VerificationMetric",
    "append_line",
    "as_pairs",
    "by_kernel_or_formula",
    "cache_folder",
    "cannot_write",
    "file_digests",
    "folded_name",
    "held",
    "is_at_work",
    "is_eager",
    "is_transformed",
    "label_sets_of",
    "label_tensor",
    "mix",
    "nearest",
    "open_file",
    "parse_json",
    "parse_with_digest",
    "pooled",
    "put_away",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "require",
    "require_batch",
    "require_file",
    "require_tree",
    "require_within",
    "shown",
    "sweep",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
