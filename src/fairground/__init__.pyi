# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground import analysis
from fairground import datasets
from fairground import heads
from fairground import losses
from fairground import metrics
from fairground import miners
from fairground import regularisers
from fairground import samplers
from fairground import splits
from fairground import transforms
from fairground import trunks
from fairground.api.compare import compare
from fairground.api.load_model import load_model
from fairground.api.recommend import recommend
from fairground.api.report import report
from fairground.api.runs import runs
from fairground.api.study import study
from fairground.api.train import train
from fairground.comparison.compare_values import compare_values
from fairground.evaluation.metric_scores import evaluate

__version__: str
__all__ = [
    "__version__",
    "analysis",
    "compare",
    "compare_values",
    "datasets",
    "evaluate",
    "heads",
    "load_model",
    "losses",
    "metrics",
    "miners",
    "recommend",
    "regularisers",
    "report",
    "runs",
    "samplers",
    "splits",
    "study",
    "train",
    "transforms",
    "trunks",
]
