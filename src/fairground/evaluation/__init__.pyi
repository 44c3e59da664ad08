# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.evaluation.analyses import analyse
from fairground.evaluation.bootstrap import Bootstrap
from fairground.evaluation.bootstrap import BootstrapInterval
from fairground.evaluation.ensemble import EnsembleScores
from fairground.evaluation.ensemble import concatenate
from fairground.evaluation.ensemble import evaluate_ensemble
from fairground.evaluation.score import score_file
from fairground.evaluation.scores import Evaluation
from fairground.evaluation.scores import evaluate
from fairground.evaluation.scores import evaluate_in_detail
from fairground.evaluation.view import EmbeddingView

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
