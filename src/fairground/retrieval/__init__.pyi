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
from fairground.retrieval.contingency import TERMS
from fairground.retrieval.contingency import entropy
from fairground.retrieval.contingency import expected_mutual_information
from fairground.retrieval.contingency import mutual_information
from fairground.retrieval.duplicate_rows import DuplicateRows
from fairground.retrieval.duplicate_rows import find_duplicate_rows
from fairground.retrieval.kmeans import Clusters
from fairground.retrieval.kmeans import ROUNDS
from fairground.retrieval.kmeans import average
from fairground.retrieval.neighbours import best_by_class
from fairground.retrieval.neighbours import nearest
from fairground.retrieval.neighbours import take_best
from fairground.retrieval.neighbours import take_lowest
from fairground.retrieval.neighbours import take_nearest
from fairground.retrieval.poincare_ball import Poincare
from fairground.retrieval.poincare_ball import heights
from fairground.retrieval.query_expansion import BLOCK_ROWS
from fairground.retrieval.query_expansion import QueryExpansion
from fairground.retrieval.query_expansion import expanded
from fairground.retrieval.ranks import Ranked
from fairground.retrieval.ranks import Relevant
from fairground.retrieval.ranks import blocks
from fairground.retrieval.ranks import rank
from fairground.retrieval.ranks import relevant_scores
from fairground.retrieval.ranks_on_device import DeviceSearchPlan
from fairground.retrieval.ranks_on_device import N_SCORES
from fairground.retrieval.ranks_on_device import has_float64
from fairground.retrieval.ranks_on_device import nearest_on_device
from fairground.retrieval.ranks_on_device import rank_on_device
from fairground.retrieval.reciprocal_neighbours import KReciprocal
from fairground.retrieval.reciprocal_neighbours import ScoreBonus
from fairground.retrieval.reciprocal_neighbours import reciprocal_overlap
from fairground.retrieval.similarity_scores import SearchPlan
from fairground.retrieval.similarity_scores import TileWorker
from fairground.retrieval.threads import Task
from fairground.retrieval.threads import Workspace
from fairground.retrieval.threads import share_out
from fairground.retrieval.threads import share_stretches
from fairground.retrieval.threads import single_threaded_blas
from fairground.retrieval.threshold_counts import FINENESS
from fairground.retrieval.threshold_counts import LONGEST
from fairground.retrieval.threshold_counts import MANY
from fairground.retrieval.threshold_counts import Thresholds
from fairground.retrieval.threshold_counts import accumulate
from fairground.retrieval.threshold_counts import count_tile
from fairground.retrieval.threshold_counts import fill_table
from fairground.retrieval.threshold_counts import read_thresholds
from fairground.retrieval.threshold_counts import table_length
from fairground.retrieval.threshold_counts import table_scale
from fairground.retrieval.tiles import EDGE
from fairground.retrieval.tiles import HeldTiles
from fairground.retrieval.tiles import Tiles
from fairground.retrieval.tiles import edge_for
from fairground.retrieval.tiles import multiply
from fairground.retrieval.tiles import normalise_rows
from fairground.retrieval.tiles import squared_lengths
from fairground.retrieval.tiles import transpose
from fairground.retrieval.verification import PairCounts
from fairground.retrieval.verification import count_pairs
from fairground.retrieval.verification import place

__all__ = [
    "BLOCK_ROWS",
    "ClusterError",
    "Clusters",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "DeviceSearchPlan",
    "DivergedError",
    "DuplicateRows",
    "EDGE",
    "FINENESS",
    "FairgroundError",
    "HeldTiles",
    "InputError",
    "KReciprocal",
    "LONGEST",
    "LockedError",
    "MANY",
    "N_SCORES",
    "PairCounts",
    "PictureError",
    "Poincare",
    "QueryExpansion",
    "ROUNDS",
    "Ranked",
    "Relevant",
    "ScoreBonus",
    "SealError",
    "SearchPlan",
    "StoreError",
    "TERMS",
    "Task",
    "Thresholds",
    "TileWorker",
    "Tiles",
    "Workspace",
    "accumulate",
    "append_line",
    "average",
    "best_by_class",
    "blocks",
    "cache_folder",
    "cannot_write",
    "count_pairs",
    "count_tile",
    "edge_for",
    "entropy",
    "expanded",
    "expected_mutual_information",
    "file_digests",
    "fill_table",
    "find_duplicate_rows",
    "folded_name",
    "has_float64",
    "heights",
    "held",
    "is_at_work",
    "multiply",
    "mutual_information",
    "nearest",
    "nearest_on_device",
    "normalise_rows",
    "open_file",
    "parse_json",
    "parse_with_digest",
    "place",
    "put_away",
    "rank",
    "rank_on_device",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_thresholds",
    "read_with_digest",
    "reading",
    "reciprocal_overlap",
    "relevant_scores",
    "require",
    "require_file",
    "require_within",
    "share_out",
    "share_stretches",
    "shown",
    "single_threaded_blas",
    "squared_lengths",
    "sweep",
    "table_length",
    "table_scale",
    "take_best",
    "take_lowest",
    "take_nearest",
    "transpose",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
