# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.evaluation.bootstrap import Bootstrap
from fairground.evaluation.bootstrap import BootstrapInterval
from fairground.evaluation.embedding_view import EmbeddingView
from fairground.evaluation.metric_scores import EnsembleScores
from fairground.evaluation.metric_scores import Evaluation
from fairground.evaluation.metric_scores import analyse
from fairground.evaluation.metric_scores import concatenate
from fairground.evaluation.metric_scores import evaluate
from fairground.evaluation.metric_scores import evaluate_ensemble
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.evaluation.metric_scores import score_file

__all__ = [
    "Bootstrap",
    "BootstrapInterval",
    "EmbeddingView",
    "EnsembleScores",
    "Evaluation",
    "analyse",
    "concatenate",
    "evaluate",
    "evaluate_ensemble",
    "evaluate_in_detail",
    "score_file",
]
