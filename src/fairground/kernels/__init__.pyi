# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
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
from fairground.kernels.batch_pairs import BatchPairs
from fairground.kernels.batch_pairs import ClassOrder
from fairground.kernels.batch_pairs import MANY
from fairground.kernels.batch_pairs import PairRule
from fairground.kernels.batch_pairs import class_order
from fairground.kernels.batch_pairs import kernel_of_pairs
from fairground.kernels.batch_pairs import one_random_positive
from fairground.kernels.log_sum_losses import RowSums
from fairground.kernels.log_sum_losses import SAFE
from fairground.kernels.log_sum_losses import angular
from fairground.kernels.log_sum_losses import circle
from fairground.kernels.log_sum_losses import generalised_lifted_structure
from fairground.kernels.log_sum_losses import group_sums
from fairground.kernels.log_sum_losses import lifted_structure
from fairground.kernels.log_sum_losses import multi_similarity
from fairground.kernels.log_sum_losses import nca
from fairground.kernels.log_sum_losses import row_sums_
from fairground.kernels.log_sum_losses import sup_con
from fairground.kernels.log_sum_losses import tuplet_margin
from fairground.kernels.log_sum_losses import tuplets_
from fairground.kernels.pair_hinge_losses import LEAST_SIGNAL
from fairground.kernels.pair_hinge_losses import contrastive
from fairground.kernels.pair_hinge_losses import hinge_gradient
from fairground.kernels.pair_hinge_losses import margin
from fairground.kernels.pair_hinge_losses import row_hinges
from fairground.kernels.pair_hinge_losses import snr
from fairground.kernels.ranking_losses import fast_ap
from fairground.kernels.ranking_losses import histogram
from fairground.kernels.ranking_losses import recall_at_k
from fairground.kernels.ranking_losses import smooth_ap
from fairground.kernels.tuple_hinge_losses import TupleHinges
from fairground.kernels.tuple_hinge_losses import mean_of
from fairground.kernels.tuple_hinge_losses import quadruplet
from fairground.kernels.tuple_hinge_losses import quadruplet_hinges
from fairground.kernels.tuple_hinge_losses import triplet
from fairground.kernels.tuple_hinge_losses import triplet_hinges
from fairground.kernels.vector_gradients import Listed
from fairground.kernels.vector_gradients import ListedRule
from fairground.kernels.vector_gradients import Rule
from fairground.kernels.vector_gradients import SUMS
from fairground.kernels.vector_gradients import distances
from fairground.kernels.vector_gradients import distances_from_products
from fairground.kernels.vector_gradients import gradient_by_products
from fairground.kernels.vector_gradients import kernel_of_distances
from fairground.kernels.vector_gradients import kernel_of_listed_distances
from fairground.kernels.vector_gradients import kernel_of_products
from fairground.kernels.vector_gradients import kernel_of_vectors
from fairground.kernels.vector_gradients import mean_hinge
from fairground.kernels.vector_gradients import no_gradient
from fairground.kernels.vector_gradients import normalize
from fairground.kernels.vector_gradients import normalize_rows
from fairground.kernels.vector_gradients import squared_distances

__all__ = [
    "BatchPairs",
    "ClassOrder",
    "ClusterError",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "DivergedError",
    "FairgroundError",
    "InputError",
    "LEAST_SIGNAL",
    "Listed",
    "ListedRule",
    "LockedError",
    "MANY",
    "PairRule",
    "PictureError",
    "RowSums",
    "Rule",
    "SAFE",
    "SUMS",
    "SealError",
    "StoreError",
    "TupleHinges",
    "angular",
    "append_line",
    "cache_folder",
    "cannot_write",
    "circle",
    "class_order",
    "contrastive",
    "distances",
    "distances_from_products",
    "fast_ap",
    "file_digests",
    "folded_name",
    "generalised_lifted_structure",
    "gradient_by_products",
    "group_sums",
    "held",
    "hinge_gradient",
    "histogram",
    "is_at_work",
    "kernel_of_distances",
    "kernel_of_listed_distances",
    "kernel_of_pairs",
    "kernel_of_products",
    "kernel_of_vectors",
    "lifted_structure",
    "margin",
    "mean_hinge",
    "mean_of",
    "multi_similarity",
    "nca",
    "nearest",
    "no_gradient",
    "normalize",
    "normalize_rows",
    "one_random_positive",
    "open_file",
    "parse_json",
    "parse_with_digest",
    "put_away",
    "quadruplet",
    "quadruplet_hinges",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "recall_at_k",
    "require",
    "require_file",
    "require_within",
    "row_hinges",
    "row_sums_",
    "shown",
    "smooth_ap",
    "snr",
    "squared_distances",
    "sup_con",
    "sweep",
    "triplet",
    "triplet_hinges",
    "tuplet_margin",
    "tuplets_",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
