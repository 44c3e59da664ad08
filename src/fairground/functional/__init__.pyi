# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.functional.pairs import PairWeights
from fairground.functional.pairs import SHORTEST
from fairground.functional.pairs import capped
from fairground.functional.pairs import class_groups
from fairground.functional.pairs import distances
from fairground.functional.pairs import distances_of_pairs
from fairground.functional.pairs import distinct_below
from fairground.functional.pairs import draw_below
from fairground.functional.pairs import fractions
from fairground.functional.pairs import marked_column
from fairground.functional.pairs import normalize
from fairground.functional.pairs import norms
from fairground.functional.pairs import one_random_positive
from fairground.functional.pairs import own_places
from fairground.functional.pairs import pair_masks
from fairground.functional.pairs import pair_weights
from fairground.functional.pairs import safe_sqrt
from fairground.functional.pairs import squared_distances
from fairground.functional.pairs import weighted_columns
from fairground.functional.prototypes import CLEARANCE
from fairground.functional.prototypes import NEAREST
from fairground.functional.prototypes import angles
from fairground.functional.prototypes import centre_spread
from fairground.functional.prototypes import class_cross_entropy
from fairground.functional.prototypes import class_vectors
from fairground.functional.prototypes import cosines
from fairground.functional.prototypes import mean_cross_entropy
from fairground.functional.prototypes import widened_cosine
from fairground.functional.reductions import COMPARISONS
from fairground.functional.reductions import LARGEST_MATRIX
from fairground.functional.reductions import NOTHING
from fairground.functional.reductions import RANK_BLOCK
from fairground.functional.reductions import SoftBins
from fairground.functional.reductions import is_held
from fairground.functional.reductions import log_one_plus_sum_exp
from fairground.functional.reductions import masked_softmax
from fairground.functional.reductions import mean_hinges
from fairground.functional.reductions import mean_of_parts
from fairground.functional.reductions import mean_where
from fairground.functional.reductions import nonzero_parts
from fairground.functional.reductions import over_rows
from fairground.functional.reductions import rows_of
from fairground.functional.reductions import soft_bins
from fairground.functional.reductions import soft_ranks
from fairground.functional.reductions import softplus
from fairground.functional.reductions import sum_over_blocks
from fairground.functional.reductions import sum_over_rows
from fairground.functional.reductions import tuplet_terms
from fairground.functional.reductions import weighted_logsumexp
from fairground.functional.reductions import weighted_mean
from fairground.functional.reductions import weighted_parts
from fairground.functional.reductions import with_norm_penalty
from fairground.functional.reductions import zero_of
from fairground.functional.reductions import zero_unless
from fairground.functional.spectral import ClassScatter
from fairground.functional.spectral import Collapse
from fairground.functional.spectral import ENOUGH
from fairground.functional.spectral import FEW
from fairground.functional.spectral import FLOOR
from fairground.functional.spectral import Kind
from fairground.functional.spectral import LINE
from fairground.functional.spectral import POINT
from fairground.functional.spectral import PrincipalAxes
from fairground.functional.spectral import class_scatter
from fairground.functional.spectral import collapse_of
from fairground.functional.spectral import decay
from fairground.functional.spectral import pair_blocks
from fairground.functional.spectral import principal_axes
from fairground.functional.spectral import principal_axes_of_few
from fairground.functional.spectral import singular_values
from fairground.functional.spectral import spaced_rows
from fairground.functional.triplets import Classmates
from fairground.functional.triplets import Reading
from fairground.functional.triplets import active_counts
from fairground.functional.triplets import classmates
from fairground.functional.triplets import distance_weights
from fairground.functional.triplets import inverse_density
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
    "Collapse",
    "ENOUGH",
    "FEW",
    "FLOOR",
    "Kind",
    "LARGEST_MATRIX",
    "LINE",
    "NEAREST",
    "NOTHING",
    "POINT",
    "PairWeights",
    "PrincipalAxes",
    "RANK_BLOCK",
    "Reading",
    "SHORTEST",
    "SoftBins",
    "active_counts",
    "angles",
    "capped",
    "centre_spread",
    "class_cross_entropy",
    "class_groups",
    "class_scatter",
    "class_vectors",
    "classmates",
    "collapse_of",
    "cosines",
    "decay",
    "distance_weights",
    "distances",
    "distances_of_pairs",
    "distinct_below",
    "draw_below",
    "fractions",
    "inverse_density",
    "is_held",
    "list_triplets",
    "log_one_plus_sum_exp",
    "marked_column",
    "masked_softmax",
    "mean_cross_entropy",
    "mean_hinges",
    "mean_of_parts",
    "mean_where",
    "negative_at",
    "nonzero_parts",
    "normalize",
    "norms",
    "one_random_positive",
    "over_rows",
    "own_places",
    "pair_blocks",
    "pair_masks",
    "pair_weights",
    "positive_at",
    "principal_axes",
    "principal_axes_of_few",
    "quadruplet_hinges",
    "rows_of",
    "safe_sqrt",
    "singular_values",
    "soft_bins",
    "soft_ranks",
    "softplus",
    "spaced_rows",
    "squared_distances",
    "sum_over_blocks",
    "sum_over_rows",
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
    "zero_of",
    "zero_unless",
]
