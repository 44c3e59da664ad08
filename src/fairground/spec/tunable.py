"""The search ranges of a component, read from its `tunable` in its source without importing it.

The paper wing plans and conducts searches and never imports torch, as `settings` says of constructors. A range is one
of the words of `space` with numbers for its ends; `pi` and simple arithmetic are understood.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from fairground import catalogue
from fairground.errors import InputError
from fairground.spec.space import Choice, Integer, LogReal, Range, Real

_WORDS: Mapping[str, Callable[..., Range]] = {"Real": Real, "LogReal": LogReal, "Integer": Integer, "Choice": Choice}
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


@cache
def tunable_of(room: str, name: str) -> Mapping[str, Range]:
    """Return the ranges of a component of ours; nothing for one that has none or lives outside."""
    if ":" in name:
        return {}
    for node in _class_body(room, name):
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == "tunable" and isinstance(node, ast.AnnAssign):
            assert isinstance(node.value, ast.Dict), f"{room}/{name}.py: tunable must be written as a dict"
            keys = [ast.literal_eval(key) for key in node.value.keys if key is not None]
            return {key: _range(value) for key, value in zip(keys, node.value.values, strict=True)}
    return {}


@cache
def has_weights(loss: str) -> bool:
    """Tell whether a loss has weights of its own to learn, so that their rate is worth searching."""
    if ":" in loss:
        return False
    source = _source("losses", loss)
    if "nn.Parameter(" in source:
        return True
    # Class weights made by geometry: the constructor must then be told how many classes there are. A memory of past
    # batches asks too, but learns nothing.
    return "n_classes: int" in source and loss != "cross_batch_memory"


def _source(room: str, name: str) -> str:
    return (Path(catalogue.__file__).parent / room / f"{name}.py").read_text(encoding="utf-8")


def _class_body(room: str, name: str) -> list[ast.stmt]:
    wanted = catalogue.class_name(room, name).lower()
    tree = ast.parse(_source(room, name))
    return next((n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name.lower() == wanted), [])


def _range(node: ast.expr) -> Range:
    is_word = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _WORDS
    if not is_word:
        raise InputError(f"'{ast.unparse(node)}' is no range: write one of {', '.join(_WORDS)}")
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return _WORDS[node.func.id](**{str(word.arg): _value(word.value) for word in node.keywords})


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Tuple):
        return tuple(ast.literal_eval(item) for item in node.elts)
    return _number(node)


def _number(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and node.id == "pi":
        return math.pi
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_number(node.left), _number(node.right))
    raise InputError(f"'{ast.unparse(node)}' is no number: a range's ends are written out")
