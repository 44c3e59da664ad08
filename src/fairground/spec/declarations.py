"""What a component declares about itself, read from its file without importing it.

This is the only place that reads source text, for one reason: the ground and the paper wing never import torch, yet a
mistyped `loss.marginn` must be refused before anything starts, a search must know its ranges, and a page must know the
year of a method and which way a metric is better. A component writes what it declares as literals in its class body,
and its settings as keyword-only arguments with typed literal defaults; a test holds what is read here to what each
imported class says. Of a part named by dotted path nothing is read: what must be known of it, its records say.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairground.errors import InputError, require
from fairground.spec import catalogue
from fairground.spec.counts import Counts
from fairground.spec.reference import Reference
from fairground.spec.settings import SUPPLIED, Setting, plain_value
from fairground.spec.space import Choice, Integer, LogReal, Range, Real

#: the words a declaration may call
_WORDS: Mapping[str, Callable[..., object]] = {
    "Real": Real,
    "LogReal": LogReal,
    "Integer": Integer,
    "Choice": Choice,
    "Reference": Reference,
    "Counts": Counts,
}
_OPERATIONS: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


@cache
def settings_of(room: str, name: str) -> Mapping[str, Setting]:
    """Return the settings of a component of ours, without those that training supplies."""
    body = _class_body(room, name)
    constructor = next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if constructor is None:
        return {}
    found = {}
    arguments = constructor.args
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if argument.arg in SUPPLIED.get(room, ()):
            continue
        annotation = ast.unparse(argument.annotation) if argument.annotation else "object"
        if default is None:
            found[argument.arg] = Setting(annotation=annotation, is_required=True)
        else:
            found[argument.arg] = Setting(annotation=annotation, default=plain_value(ast.literal_eval(default)))
    return found


def tunable_of(room: str, name: str) -> Mapping[str, Range]:
    """Return the search ranges of a component; nothing for one that has none or lives outside."""
    ranges = declared(room, name, "tunable", {})
    assert isinstance(ranges, dict), f"{room}/{name}.py: tunable must be written as a dict"
    return ranges


def reference_of(room: str, name: str) -> Reference | None:
    """Return where a component was published; None for one that was not, or lives outside."""
    reference = declared(room, name, "reference", None)
    assert reference is None or isinstance(reference, Reference), f"{room}/{name}.py: reference must be a Reference"
    return reference


def counts_of(dataset: str) -> Counts | None:
    """Return how large a published data set is; None for one of the user's own."""
    counts = declared("datasets", dataset, "official", None)
    assert counts is None or isinstance(counts, Counts), f"datasets/{dataset}.py: official must be Counts"
    return counts


def weights_of(trunk: str) -> int | None:
    """Return how many weights a trunk has; None where its settings decide."""
    n_weights = declared("trunks", trunk, "n_weights", None)
    assert n_weights is None or isinstance(n_weights, int), f"trunks/{trunk}.py: n_weights must be a number"
    return n_weights


def is_learnable(loss: str) -> bool:
    """Tell whether a loss declares weights of its own, so that their rate is worth searching."""
    return bool(declared("losses", loss, "is_learnable", False))


def declared(room: str, name: str, attribute: str, default: object) -> object:
    """Return a literal of a component's class body; `default` where it writes none, or lives outside."""
    written = _assignments(room, name).get(attribute) if name in _names(room) else None
    return default if written is None else _value(written)


@cache
def _assignments(room: str, name: str) -> Mapping[str, ast.expr]:
    """Return what a component's class body assigns, by name, as it is written."""
    nodes = [node for node in _class_body(room, name) if isinstance(node, ast.AnnAssign)]
    return {n.target.id: n.value for n in nodes if isinstance(n.target, ast.Name) and n.value is not None}


@cache
def _names(room: str) -> frozenset[str]:
    return frozenset(catalogue.list_names(room))


@cache
def _class_body(room: str, name: str) -> list[ast.stmt]:
    wanted = catalogue.class_name(room, name).lower()
    path = Path(catalogue.__file__).parents[1] / room / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return next((n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name.lower() == wanted), [])


def _value(node: ast.expr) -> object:
    """Return what a literal says: constants, containers of them, arithmetic with `pi`, and calls of known words."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {_value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.Name) and node.id == "pi":
        return math.pi
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _WORDS:
        return _WORDS[node.func.id](**{str(word.arg): _value(word.value) for word in node.keywords})
    return _arithmetic(node)


def _arithmetic(node: ast.expr) -> object:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return operator.neg(_number(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_number(node.left), _number(node.right))
    raise InputError(f"'{ast.unparse(node)}' is no literal: a component writes out what it declares")


def _number(node: ast.expr) -> Any:
    value = _value(node)
    require(isinstance(value, int | float), f"'{ast.unparse(node)}' is no number: a component writes out its ranges")
    return value
