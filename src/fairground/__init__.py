"""fairground: the level field for deep metric learning.

    import fairground as fg

    run = fg.train("laptop", loss="margin", miner="distance_weighted", seed=3)
    loss = fg.losses.TripletLoss(margin=0.1)

Importing the package imports nothing else, torch least of all: verbs and rooms are found when they are first named.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.2.0"
#: verb -> the module and the function behind it
_VERBS = {
    "train": "fairground.api.train:train",
    "study": "fairground.api.study:study",
    "compare": "fairground.api.compare:compare",
    "compare_values": "fairground.statistics.compare:compare_values",
    "report": "fairground.api.report:report",
    "runs": "fairground.api.runs:runs",
    "evaluate": "fairground.evaluation.scores:evaluate",
    "load_model": "fairground.api.load_model:load_model",
    "recommend": "fairground.api.recommend:recommend",
}
#: verbs that share their name with a room
_ALSO_ROOMS = ("study", "report", "recommend")
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
__all__ = ["__version__", *_VERBS, *_ROOMS]  # noqa: PLE0604


class _Verb:
    """A verb with the name of a room, such as `report`: called it is the verb, looked into it is the room."""

    def __init__(self, function: Any, room: str) -> None:
        self.__wrapped__ = function
        self.__doc__, self.__name__, self.__qualname__ = function.__doc__, function.__name__, function.__qualname__
        self.__module__, self._room = function.__module__, room

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        return self.__wrapped__(*arguments, **settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._room), name)

    def __repr__(self) -> str:
        return f"<function fairground.{self.__name__}>"


class _Door(ModuleType):
    """The package: finds verbs and rooms when they are named, and lets no room hide the verb of its name."""

    def __getattr__(self, name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"fairground.{name}")
        if name not in _VERBS:
            from fairground.catalogue import nearest

            raise AttributeError(f"module 'fairground' has no attribute '{name}'.{nearest(name, __all__)}")
        module, _, function = _VERBS[name].partition(":")
        found = getattr(import_module(module), function)
        if name in _ALSO_ROOMS:
            found = _Verb(found, f"fairground.{name}")
        # Found once, it need not be found again; past `__setattr__`, which is for the import system.
        super().__setattr__(name, found)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing `fairground.report.page` would otherwise put the room `report` over the verb.
        if not (name in _VERBS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(__all__)


sys.modules[__name__].__class__ = _Door
