"""Find a component by its file name, list a room, or follow an external dotted path.

`losses/soft_triple.py` holds `SoftTripleLoss`, called `soft_triple`: the file is the entry, nothing registers anything.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from fairground.errors import folded_name, nearest, require

#: room -> the word its classes end with
ROOMS = {
    "losses": "Loss",
    "miners": "Miner",
    "regularisers": "Regulariser",
    "samplers": "Sampler",
    "trunks": "Trunk",
    "heads": "Head",
    "datasets": "Dataset",
    "transforms": "Transform",
    "splits": "Split",
    "metrics": "Metric",
    "analysis": "Analysis",
}
_HERE = Path(__file__).parents[1]
#: Python objects that specs of this process name, by `object:Class_hash` or by the dotted path that finds them too
OBJECTS: dict[str, Any] = {}


def list_room(room: str) -> dict[str, str]:
    """Return the name and first docstring line of every component in a room, without importing any of them."""
    texts = {name: (_HERE / room / f"{name}.py").read_text(encoding="utf-8") for name in list_names(room)}
    return {name: (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0] for name, text in texts.items()}


def canonical(room: str, name: str) -> str:
    """Return the one spelling of a component's name: 'ArcFace', 'arcface' and 'arc_face' are all `arc_face`."""
    if ":" in name:
        return name
    known, kind = list_names(room), ROOMS[room].lower()
    if name in known:
        return name
    folded = {folded_name(word): word for word in known}
    match = folded.get(folded_name(name)) or folded.get(folded_name(name).removesuffix(kind))
    require(match is not None, f"no {kind} '{name}'.{nearest(name, known)} `fairground list {room}` shows them all.")
    return str(match)


def find(room: str, name: str) -> Any:
    """Return the class called `name` in `room`; behind a dotted path `package.module:Class`, a class or a function."""
    if ":" in name:
        return find_outside(name)
    word = canonical(room, name)
    module = importlib.import_module(f"fairground.{room}.{word}")
    wanted = folded_name(word + ROOMS[room])
    for attribute, value in vars(module).items():
        if inspect.isclass(value) and value.__module__ == module.__name__ and folded_name(attribute) == wanted:
            return value
    raise AssertionError(f"{module.__name__} must define a class named {word} in CamelCase + {ROOMS[room]}")


def lazy_room(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a room's `__getattr__`, `__dir__` and `__all__`: its classes are found when they are named."""
    room = package.rpartition(".")[2]
    offered = {class_name(room, word): word for word in list_names(room)}
    folded = {folded_name(name): word for name, word in offered.items()}

    def find_attribute(attribute: str) -> Any:
        if not attribute.startswith("_") and attribute.endswith(ROOMS[room]) and folded_name(attribute) in folded:
            return find(room, folded[folded_name(attribute)])
        hint = nearest(attribute, offered)
        raise AttributeError(f"module '{package}' has no attribute '{attribute}'.{hint}")

    return find_attribute, lambda: sorted(offered), list(offered)


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a room whose stub lists its names, each imported when used."""
    stub = (_HERE / package.rpartition(".")[2] / "__init__.pyi").read_text(encoding="utf-8")
    homes = {name: module for module, name in re.findall(r"^from (\S+) import (\w+)$", stub, re.MULTILINE)}

    def find_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'.{nearest(name, homes)}")
        return getattr(importlib.import_module(homes[name]), name)

    return find_attribute, lambda: sorted(homes), list(homes)


def class_name(room: str, word: str) -> str:
    """Return the class name of a component: `soft_triple` in losses is `SoftTripleLoss`."""
    return "".join(part.capitalize() for part in word.split("_")) + ROOMS[room]


@cache
def list_names(room: str) -> tuple[str, ...]:
    """Return the components of a room by their file names, without opening any."""
    require(room in ROOMS, f"no room '{room}'.{nearest(room, ROOMS)} There are: {', '.join(ROOMS)}.")
    return tuple(sorted(path.stem for path in (_HERE / room).glob("*.py") if not path.stem.startswith("_")))


def find_outside(path: str) -> Any:
    """Return the Python object of that name, or the class or function behind a dotted path."""
    if path in OBJECTS:
        return OBJECTS[path]
    module_name, _, attribute = path.partition(":")
    is_here = module_name != "object"
    require(is_here, f"'{path}' was an object of another Python process: pass it to fg.train as that process did")
    is_path = re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", path) is not None
    require(is_path, f"'{path}' is not a dotted path: write package.module:Class")
    try:
        if module_name.startswith("torchvision"):
            importlib.import_module("fairground.trunks.timm").import_torchvision()
        module = importlib.import_module(module_name)
    except ImportError as error:
        missing = getattr(error, "name", None) or module_name
        require(False, f"cannot import '{module_name}' for '{path}': {missing} is not installed or not on the path")
    require(hasattr(module, attribute), f"'{module_name}' has no '{attribute}'.{nearest(attribute, dir(module))}")
    found = getattr(module, attribute)
    require(inspect.isclass(found) or inspect.isroutine(found), f"'{path}' is not a class or a function")
    return found
