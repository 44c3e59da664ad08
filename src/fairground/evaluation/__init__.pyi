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
from fairground.evaluation.bootstrap import Bootstrap
from fairground.evaluation.bootstrap import BootstrapInterval
from fairground.evaluation.bootstrap import CHUNK
from fairground.evaluation.checked_arrays import Coded
from fairground.evaluation.checked_arrays import Embeddings
from fairground.evaluation.checked_arrays import Labels
from fairground.evaluation.checked_arrays import as_column
from fairground.evaluation.checked_arrays import as_label_sets
from fairground.evaluation.checked_arrays import as_matrix
from fairground.evaluation.checked_arrays import coded
from fairground.evaluation.checked_arrays import is_multi_label
from fairground.evaluation.checked_arrays import row_numbers
from fairground.evaluation.checked_arrays import working_dtype
from fairground.evaluation.embed import BLOCK
from fairground.evaluation.embed import PIXELS
from fairground.evaluation.embed import PIXELS_ON_DEVICE
from fairground.evaluation.embed import PROJECTED
from fairground.evaluation.embed import SLOW_BLOCK
from fairground.evaluation.embed import embed_blocks
from fairground.evaluation.embed import pretrained_embeddings
from fairground.evaluation.evaluated_embeddings import BLOCK_ROWS
from fairground.evaluation.evaluated_embeddings import Curve
from fairground.evaluation.evaluated_embeddings import Distance
from fairground.evaluation.evaluated_embeddings import EmbeddingView
from fairground.evaluation.evaluated_embeddings import GENUINE_LIMIT
from fairground.evaluation.evaluated_embeddings import LIMIT
from fairground.evaluation.metric_scores import Average
from fairground.evaluation.metric_scores import DEFAULT_METRICS
from fairground.evaluation.metric_scores import EnsembleScores
from fairground.evaluation.metric_scores import Evaluation
from fairground.evaluation.metric_scores import Lone
from fairground.evaluation.metric_scores import OPTIONAL
from fairground.evaluation.metric_scores import REQUIRED
from fairground.evaluation.metric_scores import ViewSettings
from fairground.evaluation.metric_scores import analyse
from fairground.evaluation.metric_scores import concatenate
from fairground.evaluation.metric_scores import evaluate
from fairground.evaluation.metric_scores import evaluate_ensemble
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.evaluation.metric_scores import metric_named
from fairground.evaluation.metric_scores import score_file_in_detail
from fairground.evaluation.pairs_by_class import EDGE
from fairground.evaluation.pairs_by_class import PairsByClass
from fairground.evaluation.pairs_by_class import STEPS
from fairground.evaluation.relevant_references import GradedRows
from fairground.evaluation.relevant_references import GroupRule
from fairground.evaluation.relevant_references import Groups
from fairground.evaluation.relevant_references import Listed
from fairground.evaluation.relevant_references import Relevance
from fairground.evaluation.relevant_references import RelevanceFunction
from fairground.evaluation.relevant_references import RelevanceRule
from fairground.evaluation.relevant_references import SameClass
from fairground.evaluation.relevant_references import lists_from_function
from fairground.evaluation.relevant_references import lists_from_sets
from fairground.evaluation.relevant_references import relevance_of
from fairground.evaluation.reranking import Reranking
from fairground.evaluation.reranking import reranked
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
    "Average",
    "BLOCK",
    "BLOCK_ROWS",
    "Bootstrap",
    "BootstrapInterval",
    "CHUNK",
    "ClusterError",
    "Coded",
    "CsvTable",
    "Curve",
    "DEFAULT_METRICS",
    "DamageWarning",
    "DataError",
    "Distance",
    "DivergedError",
    "EDGE",
    "EmbeddingView",
    "Embeddings",
    "EnsembleScores",
    "Evaluation",
    "FairgroundError",
    "GENUINE_LIMIT",
    "GradedRows",
    "GroupRule",
    "Groups",
    "InputError",
    "LIMIT",
    "Labels",
    "Listed",
    "LockedError",
    "Lone",
    "OPTIONAL",
    "PIXELS",
    "PIXELS_ON_DEVICE",
    "PROJECTED",
    "PairsByClass",
    "PictureError",
    "REQUIRED",
    "Relevance",
    "RelevanceFunction",
    "RelevanceRule",
    "Reranking",
    "SLOW_BLOCK",
    "STEPS",
    "SameClass",
    "SealError",
    "StoreError",
    "ViewSettings",
    "analyse",
    "append_line",
    "as_column",
    "as_label_sets",
    "as_matrix",
    "cache_folder",
    "cannot_write",
    "coded",
    "concatenate",
    "embed_blocks",
    "evaluate",
    "evaluate_ensemble",
    "evaluate_in_detail",
    "file_digests",
    "folded_name",
    "held",
    "is_at_work",
    "is_multi_label",
    "lists_from_function",
    "lists_from_sets",
    "metric_named",
    "nearest",
    "open_file",
    "parse_json",
    "parse_with_digest",
    "pretrained_embeddings",
    "put_away",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "relevance_of",
    "require",
    "require_file",
    "require_within",
    "reranked",
    "row_numbers",
    "score_file_in_detail",
    "shown",
    "sweep",
    "working_dtype",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
