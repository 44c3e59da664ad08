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
from fairground.evaluation.metric_scores import counted_queries
from fairground.evaluation.metric_scores import evaluate
from fairground.evaluation.metric_scores import evaluate_ensemble
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.evaluation.metric_scores import metric_named
from fairground.evaluation.metric_scores import score_file
from fairground.evaluation.metric_scores import score_file_in_detail
from fairground.evaluation.relevant_references import GroupRule
from fairground.evaluation.relevant_references import Groups
from fairground.evaluation.relevant_references import Listed
from fairground.evaluation.relevant_references import Relevance
from fairground.evaluation.relevant_references import RelevanceFunction
from fairground.evaluation.relevant_references import SameClass
from fairground.evaluation.relevant_references import lists_from_function
from fairground.evaluation.relevant_references import lists_from_sets

__all__ = [
    "Average",
    "BLOCK",
    "BLOCK_ROWS",
    "Bootstrap",
    "BootstrapInterval",
    "CHUNK",
    "ClusterError",
    "Coded",
    "Curve",
    "DEFAULT_METRICS",
    "DamageWarning",
    "DataError",
    "Distance",
    "DivergedError",
    "EmbeddingView",
    "Embeddings",
    "EnsembleScores",
    "Evaluation",
    "FairgroundError",
    "GENUINE_LIMIT",
    "GroupRule",
    "Groups",
    "InputError",
    "LIMIT",
    "Labels",
    "Listed",
    "Lone",
    "OPTIONAL",
    "PIXELS",
    "PIXELS_ON_DEVICE",
    "PROJECTED",
    "PictureError",
    "REQUIRED",
    "Relevance",
    "RelevanceFunction",
    "SLOW_BLOCK",
    "SameClass",
    "SealError",
    "StoreError",
    "ViewSettings",
    "analyse",
    "as_column",
    "as_label_sets",
    "as_matrix",
    "coded",
    "concatenate",
    "counted_queries",
    "embed_blocks",
    "evaluate",
    "evaluate_ensemble",
    "evaluate_in_detail",
    "is_multi_label",
    "lists_from_function",
    "lists_from_sets",
    "metric_named",
    "pretrained_embeddings",
    "require",
    "require_within",
    "row_numbers",
    "score_file",
    "score_file_in_detail",
    "working_dtype",
]
