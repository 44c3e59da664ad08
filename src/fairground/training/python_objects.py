"""Python objects in a spec: each has a name that follows from its content, and stands behind it in this process.

A class or function that can be imported is its dotted path. Any other object is `object:Class_hash`: the hash is of
its source, its state and its data. An object whose content cannot be read gets a name that never comes again.
"""

import copy
import hashlib
import inspect
import sys
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from fairground.contracts.dataset import Dataset
from fairground.loading import ObjectDataset
from fairground.spec import OBJECTS, ROOM_OF, RunSpec

_UNREAD = "_unread_"
#: classes whose source says nothing about a part
_COMMON = {object, torch.nn.Module}


class _UnreadableError(Exception):
    """An object's content cannot be told."""


def name_of_object(key: str, thing: Any) -> str:
    """Return what a spec calls a Python object given for a part, and remember it under that name."""
    if inspect.isclass(thing) or isinstance(thing, FunctionType):
        module, name = thing.__module__, thing.__qualname__
        if module.startswith(f"fairground.{ROOM_OF.get(key)}."):
            return module.rpartition(".")[2]
        if getattr(sys.modules.get(module), name, None) is thing:
            OBJECTS[f"{module}:{name}"] = thing
            return f"{module}:{name}"
    kind = getattr(thing, "__name__", type(thing).__name__).strip("<>")
    if key == "data" and not callable(thing):
        thing = thing if isinstance(thing, Dataset) else ObjectDataset(thing)
    try:
        text = thing.digest[:12] if isinstance(thing, ObjectDataset) else digest_of(thing)
    except _UnreadableError:
        text = f"{_UNREAD}{uuid.uuid4().hex[:12]}".lstrip("_")
    OBJECTS[f"object:{kind}_{text}"] = thing
    return f"object:{kind}_{text}"


def object_notes(spec: RunSpec) -> list[str]:
    names = {key: part.name for key in (*ROOM_OF, "optimiser") if (part := getattr(spec, key)) is not None}
    found = [f"{key} {name}" for key, name in names.items() if name.startswith("object:")]
    end = "the same call of fg.train finds and resumes this run; the command line cannot"
    if any(_UNREAD.strip("_") in name for name in found):
        end = "the content of one cannot be read, so this run cannot be shared or resumed elsewhere"
    return [f"made of Python objects ({', '.join(found)}): {end}"] if found else []


def copied(thing: Any) -> Any:
    """Return a copy, so that training does not change what the user has; what cannot be copied is used as it is."""
    with suppress(TypeError, RuntimeError, NotImplementedError):
        return copy.deepcopy(thing)
    return thing


def digest_of(thing: Any) -> str:
    """Return the hash of an object's source and state; refuse one that has more than can be read."""
    digest = hashlib.sha256()
    waiting: list[tuple[Any, tuple[int, ...]]] = [(thing, ())]
    while waiting:
        found, above = waiting.pop()
        # What an object is within has been read already.
        if id(found) not in above:
            own, inner = _value(found) or _code(found) or _state(found)
            digest.update(own + b"|%d|" % len(inner))
            waiting += [(item, (*above, id(found))) for item in inner]
    return digest.hexdigest()[:12]


#: what an object says itself, and the objects in it that say the rest
_Content = tuple[bytes, list[Any]]


def _value(thing: Any) -> _Content | None:
    if isinstance(thing, torch.Tensor | np.ndarray | np.generic):
        array = np.asarray(thing.detach().cpu() if isinstance(thing, torch.Tensor) else thing)
        return f"{array.shape} {array.dtype.str}".encode() + np.ascontiguousarray(array).tobytes(), []
    if isinstance(thing, Mapping):
        return b"table", [item for pair in thing.items() for item in pair]
    if isinstance(thing, set | frozenset):
        return b"set", sorted(map(digest_of, thing))
    if isinstance(thing, list | tuple):
        return b"list", list(thing)
    is_plain = thing is None or isinstance(thing, str | int | float | complex | bytes | PurePath | torch.dtype)
    return (repr(thing).encode(), []) if is_plain else None


def _code(thing: Any) -> _Content | None:
    if isinstance(thing, ModuleType):
        return thing.__name__.encode(), []
    if isinstance(thing, partial):
        return b"partial", [thing.func, thing.args, thing.keywords]
    if inspect.isclass(thing):
        return b"|".join(_source(kind) for kind in thing.__mro__ if kind not in _COMMON), []
    if isinstance(thing, FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        # What the function finds outside itself: helpers, constants, modules.
        outside = {name: thing.__globals__[name] for name in thing.__code__.co_names if name in thing.__globals__}
        return _source(thing), [thing.__defaults__, thing.__kwdefaults__, cells, outside]
    if inspect.ismethod(thing):
        return b"method", [thing.__func__, thing.__self__]
    return (_source(thing), []) if inspect.isroutine(thing) else None


def _state(thing: Any) -> _Content:
    if not hasattr(thing, "__dict__"):
        raise _UnreadableError
    return b"object", [type(thing), vars(thing)]


def _source(thing: Any) -> bytes:
    """Return the source of a class or function; the name of one that is not written in Python."""
    try:
        return inspect.getsource(thing).encode()
    except (OSError, TypeError) as error:
        module = sys.modules.get(getattr(thing, "__module__", None) or "builtins")
        if str(getattr(module, "__file__", "")).endswith(".py") or getattr(module, "__name__", "") == "__main__":
            raise _UnreadableError from error
        return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}".encode()
