"""fairground: compare deep metric learning methods fairly.

    import fairground as fg

    run = fg.train("laptop", loss="margin", miner="distance_weighted", seed=3)
    loss = fg.losses.TripletLoss(margin=0.1)

Importing the package does not import torch: verbs and rooms are imported when they are first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.3.0"
#: verb -> the module and the function behind it
_VERBS = {
    "train": "fairground.commands.train:train",
    "study": "fairground.commands.study:study",
    "compare": "fairground.commands.compare:compare",
    "compare_values": "fairground.comparison.compare_values:compare_values",
    "report": "fairground.commands.report:report",
    "runs": "fairground.commands.runs:runs",
    "import_runs": "fairground.commands.runs:import_runs",
    "evaluate": "fairground.evaluation.metric_scores:evaluate",
    "load_model": "fairground.commands.load_model:load_model",
    "get_data": "fairground.commands.data:get_data",
    "recommend": "fairground.commands.recommend:recommend",
}
#: the component rooms, in the order of `catalogue.ROOMS`
_ROOMS = (
    "losses",
    "miners",
    "regularisers",
    "samplers",
    "trunks",
    "heads",
    "datasets",
    "transforms",
    "splits",
    "metrics",
    "analysis",
)
#: modules of their own
_MODULES = ("distributed",)
__all__ = ["__version__", *_VERBS, *_ROOMS, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in (*_ROOMS, *_MODULES):
        return import_module(f"fairground.{name}")
    if name in _VERBS:
        module, _, function = _VERBS[name].partition(":")
        return getattr(import_module(module), function)
    from fairground.errors import nearest

    raise AttributeError(f"module 'fairground' has no attribute '{name}'.{nearest(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
