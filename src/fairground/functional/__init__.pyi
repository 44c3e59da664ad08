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
from fairground.functional.decoupling import decoupled_contrast
from fairground.functional.means_and_log_sums import NOTHING
from fairground.functional.means_and_log_sums import log_one_plus_sum_exp
from fairground.functional.means_and_log_sums import masked_softmax
from fairground.functional.means_and_log_sums import mean_hinges
from fairground.functional.means_and_log_sums import mean_of_parts
from fairground.functional.means_and_log_sums import mean_where
from fairground.functional.means_and_log_sums import nonzero_parts
from fairground.functional.means_and_log_sums import softplus
from fairground.functional.means_and_log_sums import tuplet_terms
from fairground.functional.means_and_log_sums import weighted_logsumexp
from fairground.functional.means_and_log_sums import weighted_mean
from fairground.functional.means_and_log_sums import weighted_parts
from fairground.functional.means_and_log_sums import with_norm_penalty
from fairground.functional.means_and_log_sums import zero_of
from fairground.functional.memory_blocks import COMPARISONS
from fairground.functional.memory_blocks import LARGEST_MATRIX
from fairground.functional.memory_blocks import is_held
from fairground.functional.memory_blocks import over_rows
from fairground.functional.memory_blocks import rows_of
from fairground.functional.memory_blocks import sum_over_blocks
from fairground.functional.memory_blocks import sum_over_rows
from fairground.functional.pair_distances import SHORTEST
from fairground.functional.pair_distances import distance_weights
from fairground.functional.pair_distances import distances
from fairground.functional.pair_distances import distances_of_pairs
from fairground.functional.pair_distances import inverse_density
from fairground.functional.pair_distances import normalize
from fairground.functional.pair_distances import norms
from fairground.functional.pair_distances import pair_blocks
from fairground.functional.pair_distances import safe_sqrt
from fairground.functional.pair_distances import spaced_rows
from fairground.functional.pair_distances import squared_distances
from fairground.functional.pairs import PairWeights
from fairground.functional.pairs import class_groups
from fairground.functional.pairs import one_random_positive
from fairground.functional.pairs import own_places
from fairground.functional.pairs import pair_masks
from fairground.functional.pairs import pair_weights
from fairground.functional.principal_components import PrincipalAxes
from fairground.functional.principal_components import principal_axes
from fairground.functional.principal_components import principal_axes_of_few
from fairground.functional.principal_components import same_way
from fairground.functional.prototypes import CLEARANCE
from fairground.functional.prototypes import NEAREST
from fairground.functional.prototypes import angles
from fairground.functional.prototypes import centre_spread
from fairground.functional.prototypes import class_cross_entropy
from fairground.functional.prototypes import class_vectors
from fairground.functional.prototypes import cosines
from fairground.functional.prototypes import mean_cross_entropy
from fairground.functional.prototypes import widened_cosine
from fairground.functional.random_draws import capped
from fairground.functional.random_draws import distinct_below
from fairground.functional.random_draws import draw_below
from fairground.functional.random_draws import fractions
from fairground.functional.random_draws import marked_column
from fairground.functional.random_draws import weighted_columns
from fairground.functional.scatter_of_classes import ClassScatter
from fairground.functional.scatter_of_classes import class_scatter
from fairground.functional.soft_histograms_and_ranks import RANK_BLOCK
from fairground.functional.soft_histograms_and_ranks import SoftBins
from fairground.functional.soft_histograms_and_ranks import running_sums
from fairground.functional.soft_histograms_and_ranks import soft_bins
from fairground.functional.soft_histograms_and_ranks import soft_ranks
from fairground.functional.spectra import FLOOR
from fairground.functional.spectra import decay
from fairground.functional.spectra import singular_values
from fairground.functional.triplets import Classmates
from fairground.functional.triplets import active_counts
from fairground.functional.triplets import classmates
from fairground.functional.triplets import list_triplets
from fairground.functional.triplets import negative_at
from fairground.functional.triplets import positive_at
from fairground.functional.triplets import quadruplet_hinges
from fairground.functional.triplets import switch_triplets
from fairground.functional.triplets import triplet_at
from fairground.functional.triplets import triplet_hinges

__all__ = [
    "CLEARANCE",
    "COMPARISONS",
    "ClassScatter",
    "Classmates",
    "ClusterError",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "DivergedError",
    "FLOOR",
    "FairgroundError",
    "InputError",
    "LARGEST_MATRIX",
    "LockedError",
    "NEAREST",
    "NOTHING",
    "PairWeights",
    "PictureError",
    "PrincipalAxes",
    "RANK_BLOCK",
    "SHORTEST",
    "SealError",
    "SoftBins",
    "StoreError",
    "active_counts",
    "angles",
    "append_line",
    "cache_folder",
    "cannot_write",
    "capped",
    "centre_spread",
    "class_cross_entropy",
    "class_groups",
    "class_scatter",
    "class_vectors",
    "classmates",
    "cosines",
    "decay",
    "decoupled_contrast",
    "distance_weights",
    "distances",
    "distances_of_pairs",
    "distinct_below",
    "draw_below",
    "file_digests",
    "folded_name",
    "fractions",
    "held",
    "inverse_density",
    "is_at_work",
    "is_held",
    "list_triplets",
    "log_one_plus_sum_exp",
    "marked_column",
    "masked_softmax",
    "mean_cross_entropy",
    "mean_hinges",
    "mean_of_parts",
    "mean_where",
    "nearest",
    "negative_at",
    "nonzero_parts",
    "normalize",
    "norms",
    "one_random_positive",
    "open_file",
    "over_rows",
    "own_places",
    "pair_blocks",
    "pair_masks",
    "pair_weights",
    "parse_json",
    "parse_with_digest",
    "positive_at",
    "principal_axes",
    "principal_axes_of_few",
    "put_away",
    "quadruplet_hinges",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "require",
    "require_file",
    "require_within",
    "rows_of",
    "running_sums",
    "safe_sqrt",
    "same_way",
    "shown",
    "singular_values",
    "soft_bins",
    "soft_ranks",
    "softplus",
    "spaced_rows",
    "squared_distances",
    "sum_over_blocks",
    "sum_over_rows",
    "sweep",
    "switch_triplets",
    "triplet_at",
    "triplet_hinges",
    "tuplet_terms",
    "weighted_columns",
    "weighted_logsumexp",
    "weighted_mean",
    "weighted_parts",
    "widened_cosine",
    "with_norm_penalty",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
    "zero_of",
]
