"""What a component declares about itself, read from its file: literals of its class body, arguments, their checks.

Reading keeps torch out of commands that look something up, and refuses a wrong setting before anything starts.
"""

import ast
import builtins
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, Literal, NamedTuple

from fairground.spec import Choice, Integer, LogReal, Real, Value, catalogue, require, require_within


class Counts(NamedTuple):
    """How many classes and images the two halves of a published data set have, written at it as literals."""

    train_classes: int
    train_images: int
    test_classes: int
    test_images: int


#: constructor arguments that training supplies by name or, like a sampler's seed, leaves out; a spec may not set them
SUPPLIED: Mapping[str, frozenset[str]] = {
    "losses": frozenset({"n_classes", "embedding_dim", "branches", "levels"}),
    "samplers": frozenset({"labels", "batch_size", "super_labels", "seed"}),
    "heads": frozenset({"n_features"}),
    "trunks": frozenset({"channels"}),
    "transforms": frozenset({"preprocessing"}),
}
#: settings that came after runs had been named: at their defaults they are left out, which keeps the names
CAME_LATER: Mapping[str, frozenset[str]] = {
    "losses": frozenset({"decoupled", "decoupled_sigma", "miners"}),
    "trunks": frozenset({"pooling", "image_size", "drop_path"}),
}
#: the names that a declaration may use
_NAMES: Mapping[str, Any] = {
    **{kind.__name__: kind for kind in (Real, LogReal, Integer, Choice, Counts, Sequence, Mapping)},
    **{"Literal": Literal, "Any": Any, "Path": str, "pi": math.pi},
}
#: the functions that the check of a setting may call
_CHECKS: Mapping[str, Any] = {
    **{call.__name__: call for call in (abs, all, any, float, int, isinstance, len, max, min, range, set, sum)},
    **{"require": require, "radians": math.radians, "isfinite": math.isfinite, "pi": math.pi},
}


class Setting(NamedTuple):
    """One constructor argument: its annotation as written and as a type, and its default if it has one."""

    annotation: str
    hint: Any
    default: Value = None
    is_required: bool = False


class Reference(NamedTuple):
    """The publication a component follows."""

    authors: str
    title: str
    venue: str
    year: int


@cache
def settings_of(room: str, name: str) -> Mapping[str, Setting]:
    """Return the settings of a component of ours, without those that training supplies."""
    found: dict[str, Setting] = {}
    for module, constructor in _constructors(f"{room}.{name}", catalogue.class_name(room, name)):
        for argument, default in zip(constructor.args.kwonlyargs, constructor.args.kw_defaults, strict=True):
            assert argument.annotation is not None, f"{module}: {argument.arg} needs a type"
            if argument.arg not in {*found, *SUPPLIED.get(room, ())}:
                found[argument.arg] = Setting(
                    annotation=ast.unparse(argument.annotation),
                    hint=_evaluated(argument.annotation, module),
                    default=None if default is None else json.loads(json.dumps(ast.literal_eval(default))),
                    is_required=default is None,
                )
    return found


def check_settings(room: str, name: str, settings: Mapping[str, Value]) -> None:
    """Check the bounds of a component's settings, and run those checks of its constructor that need them alone."""
    for key, interval in declared(room, name, "bounds", {}).items():
        require_within(interval, f"{name}.{key}", settings.get(key))
    names = {**_CHECKS, **settings, "self": SimpleNamespace()}
    for check in _checks(room, name):
        # About an attribute that only a real object has, or what follows from one.
        with suppress(AttributeError, NameError):
            exec(check, names)


def reference_of(room: str, name: str) -> Reference | None:
    """Return where a component was published: the first entry of the Paper section of its docstring."""
    text = ast.get_docstring(_tree(f"{room}.{name}")) if name in catalogue.list_names(room) else None
    paper = " ".join((text or "").partition("\nPaper\n")[2].split())
    found = re.match(r'(?!None\b)([^"]+), "([^"]+)", ([^;]+?) (\d{4})\b', paper)
    return None if found is None else Reference(found[1], found[2], found[3], int(found[4]))


def declared(room: str, name: str, attribute: str, default: Any) -> Any:
    """Return a literal of a component's class body; `default` where it has none, or is not one of ours."""
    found = _declared(room, name, attribute)
    return found[0] if found else default


@cache
def _declared(room: str, name: str, attribute: str) -> tuple[Any, ...]:
    """Return a literal of a component's class body in a tuple, which is empty where it has none."""
    is_ours = name in catalogue.list_names(room)
    found = _find_class(f"{room}.{name}", catalogue.class_name(room, name)) if is_ours else None
    for node in found[1].body if found else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and target.id == attribute:
                return (_evaluated(node.value, f"{room}.{name}"),)
    return ()


@cache
def _checks(room: str, name: str) -> list[CodeType]:
    """Return the statements of constructors that use nothing but their settings and what follows from them."""
    constructors = _constructors(f"{room}.{name}", catalogue.class_name(room, name))
    known = {*_CHECKS, *settings_of(room, name), "self"}
    found = []
    for statement in [statement for _, constructor in reversed(constructors) for statement in constructor.body]:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        is_plain = isinstance(statement, ast.Expr | ast.Assign | ast.For | ast.If)
        if is_plain and {node.id for node in names} <= known | stored:
            known |= stored
            found.append(compile(ast.Module([statement], []), f"{room}/{name}.py", "exec"))
    return found


def _constructors(module: str, name: str) -> list[tuple[str, ast.FunctionDef]]:
    """Return a class's constructor with its module; where it has none, or passes settings on, its base's follows."""
    found = _find_class(module, name)
    if found is None:
        return []
    origin, kind = found
    own = [(origin, n) for n in kind.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    if (own and own[0][1].args.kwarg is None) or not kind.bases:
        return own
    return [*own, *_constructors(origin, ast.unparse(kind.bases[0]))]


@cache
def _find_class(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """Return the class that a module calls `Name` or `other.Name`, and where it is defined; None if it is not ours."""
    outer, _, inner = name.rpartition(".")
    for node in _tree(module).body:
        if isinstance(node, ast.ClassDef) and node.name.lower() == name.lower():
            return module, node
        if isinstance(node, ast.ImportFrom) and (outer or name) in {alias.asname or alias.name for alias in node.names}:
            package, _, path = f"{node.module}.{outer}".removesuffix(".").partition(".")
            return _find_class(path, inner) if package == "fairground" else None
    assert not outer or outer.startswith("torch."), f"{module}: write the import of {name} as `from ... import ...`"
    return None


@cache
def _tree(module: str) -> ast.Module:
    path = Path(catalogue.__file__).parents[1].joinpath(*module.split("."))
    # The stub of a room says in which of its files a name is.
    file = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _evaluated(node: ast.expr, module: str) -> Any:
    """Return the value of an expression in a module, whose other names are aliases of types."""
    used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} - set(_NAMES)
    aliases = {name: _alias(module, name) for name in used if not hasattr(builtins, name)}
    return eval(compile(ast.Expression(node), module, "eval"), {**_NAMES, **aliases})


def _alias(module: str, name: str) -> Any:
    """Return the type that a module means by a name: `Mine = Literal[...]`, its own or imported from another."""
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in node.targets):
            return _evaluated(node.value, module)
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return _alias(str(node.module).removeprefix("fairground."), name)
    raise AssertionError(f"{module}: the type {name} must be a Literal")
