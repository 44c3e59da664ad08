# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground import analysis
from fairground import datasets
from fairground import distributed
from fairground import heads
from fairground import losses
from fairground import metrics
from fairground import miners
from fairground import regularisers
from fairground import samplers
from fairground import splits
from fairground import transforms
from fairground import trunks
from fairground.commands.compare import compare
from fairground.commands.data import get_data
from fairground.commands.load_model import load_model
from fairground.commands.recommend import recommend
from fairground.commands.report import report
from fairground.commands.runs import import_runs
from fairground.commands.runs import runs
from fairground.commands.study import study
from fairground.commands.train import train
from fairground.comparison.compare_values import compare_values
from fairground.evaluation.metric_scores import evaluate

__version__: str
__all__ = [
    "__version__",
    "analysis",
    "compare",
    "compare_values",
    "datasets",
    "distributed",
    "evaluate",
    "get_data",
    "heads",
    "import_runs",
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
