"""What the arguments of a run point at: the source, version and defaults of classes from outside, files, data.

The record has them as short texts, so that no run is returned or resumed after a change. The source of a class is the
statements that define it and, in turn, all of the user's own that they name; of an installed package, its version.
"""

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from fairground.records import PACKAGES
from fairground.spec import ROOM_OF, DamageWarning, InputError, RunSpec, StoreError, file_digests, find

#: hashes, versions and defaults, by what they are of
Content = Mapping[str, str]
#: the source of a class that was typed at a prompt; it never counts as unchanged
UNKNOWN = "unknown"
_OURS = Path(__file__).parents[1]
#: the source of a class when it was first seen: an edit of its file does not change the code that runs
_first_seen: "WeakKeyDictionary[Any, tuple[str, Content]]" = WeakKeyDictionary()


class ChangedError(StoreError, InputError):
    """A stored run has other content than the same spec has now."""


def content_of(spec: RunSpec, of_data: Callable[[], Content]) -> dict[str, str]:
    """Return what a spec points at; `of_data` is asked for data that does not come with the package."""
    parts = {key: part for key in ROOM_OF if (part := getattr(spec, key)) is not None}
    measured = (*spec.evaluation.metrics, *spec.evaluation.analyses)
    words = [spec.optimiser.name, *(part.name for part in parts.values())]
    words += [word.partition("@")[0].partition("(")[0].partition("+")[0] for word in measured]
    found: dict[str, str] = {}
    for name in sorted({word for word in words if ":" in word}):
        found |= _content_of_part(name)
    settings = {f"{key}.{name}": value for key, part in parts.items() for name, value in part.settings.items()}
    places = {name: Path(value).expanduser() for name, value in settings.items() if value and isinstance(value, str)}
    if ":" in spec.data.name or {"data.root", "data.path"} & places.keys():
        found |= of_data()
    files = {name: place for name, place in places.items() if not name.startswith("data.") and place.is_file()}
    digests = file_digests(files.values())
    return found | {f"file of {name}": digests[place][:16] for name, place in files.items()}


def fingerprint_of(*things: object) -> str:
    """Return a hash of data: arrays by their bytes, all else as Python writes it."""
    digest = hashlib.sha256()
    for thing in things:
        digest.update(thing.tobytes() if isinstance(thing, np.ndarray) else repr(thing).encode())
        digest.update(b"|")
    return digest.hexdigest()[:16]


def require_unchanged(name: str, before: Content, now: Content) -> None:
    """Refuse to return or resume a run whose content is not what it was, in a sentence that says what changed."""
    if what := changes_in(before, now):
        again = "`--again` (in Python `again=True`) makes it again and keeps the old record in its history"
        other = f"run {name} was made with other content: {what}"
        raise ChangedError(f"{other}. {again}; another seed or setting is a new run")


def changes_in(before: Content, now: Content) -> str:
    """Say what of the content changed; empty where nothing did."""
    changed = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key) or now[key] == UNKNOWN]
    return "; ".join(f"{key} was {before.get(key, 'not noted')}, is {now.get(key, 'not there')}" for key in changed)


def _content_of_part(name: str) -> Content:
    """Return the source of a class or function, or of the classes of an object; versions of packages; defaults."""
    found = find("losses", name)
    is_code = inspect.isclass(found) or inspect.isroutine(found)
    modules = found.modules() if not is_code and hasattr(found, "modules") else [found]
    kinds = [found] if is_code else {type(one): None for one in modules}
    sources = [_source_of(kind) for kind in kinds]
    digest = hashlib.sha256(repr(sorted(digest for digest, _ in sources)).encode()).hexdigest()[:16]
    content = {f"source of {name}": UNKNOWN if (UNKNOWN, {}) in sources else digest}
    content |= {f"version of {package}": version for _, packages in sources for package, version in packages.items()}
    with suppress(TypeError, ValueError):  # some functions that are not written in Python
        for parameter in inspect.signature(found).parameters.values() if is_code else ():
            default = parameter.default
            if default is None or isinstance(default, str | int | float | tuple):
                content[f"default {parameter.name} of {name}"] = repr(default)
    return content


def _source_of(kind: Any) -> tuple[str, Content]:
    """Return the hash of the source of a class or function, and the versions of the packages that it uses."""
    reader = _SourceReader()
    reader.follow(kind.__module__, kind.__qualname__.partition(".")[0])
    file = _file_of(kind.__module__)
    if file is not None and not _is_own(kind.__module__):
        reader.texts["file"] = file_digests([Path(file)])[Path(file)]
    if UNKNOWN in reader.texts.values():
        return UNKNOWN, {}
    now = (hashlib.sha256(repr(sorted(reader.texts.items())).encode()).hexdigest(), reader.versions)
    first = _first_seen.setdefault(kind, now)
    if first != now:
        sentence = f"the source of {kind.__qualname__} changed after Python imported it: what runs is as it was"
        DamageWarning.warn(f"{sentence}; start Python again to run the new one")
    return first


class _SourceReader:
    """Collects the statements that define a name and, in turn, those of what they name, and versions of packages."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.versions: dict[str, str] = {}

    def follow(self, module_name: str, name: str) -> None:
        """Add the statements of a module that define a name, or all for "*"; of an installed package, its version."""
        key = f"{module_name}:{name}"
        if key in self.texts:
            return
        self.texts[key] = ""
        if not _is_own(module_name):
            packages = {*_distributions().get(module_name.partition(".")[0], ())} - {*PACKAGES, "fairground"}
            self.versions |= {package: metadata.version(package) for package in packages}
            return
        module = import_module(module_name)
        try:
            source = _source(module)
            statements = [one for one in ast.parse(source).body if name == "*" or {name, "*"} & _bound(one)]
        except (OSError, TypeError, SyntaxError, ValueError):
            self.texts[key] = UNKNOWN
            return
        # Of the cells of a notebook that define it, the one that was run last.
        for statement in statements if hasattr(module, "__file__") else statements[-1:]:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self._follow_import(module, statement, name)
            else:
                first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", ()))])
                self.texts[key] += "\n".join(source.splitlines()[first - 1 : statement.end_lineno])
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and node.id in vars(module):
                        self.follow(module.__name__, node.id)
                    elif isinstance(node, ast.Import | ast.ImportFrom):
                        self._follow_import(module, node, "*")

    def _follow_import(self, module: ModuleType, statement: ast.Import | ast.ImportFrom, wanted: str) -> None:
        for alias in statement.names:
            if wanted not in ("*", (alias.asname or alias.name).partition(".")[0]) and alias.name != "*":
                continue
            if isinstance(statement, ast.Import):
                self.follow(alias.name, "*")
                continue
            package = resolve_name("." * statement.level + (statement.module or ""), module.__package__)
            name = wanted if alias.name == "*" else alias.name
            is_module = _is_own(package) and _file_of(f"{package}.{name}") is not None
            self.follow(*((f"{package}.{name}", "*") if is_module else (package, name)))


def _file_of(module_name: str) -> str | None:
    with suppress(ImportError, ValueError, AttributeError):
        found = find_spec(module_name)
        return found.origin if found is not None and found.has_location else None  # builtins have no file
    return None


def _is_own(module_name: str) -> bool:
    """Tell whether a module is neither of this package nor installed nor part of Python."""
    file = _file_of(module_name)
    if file is None or not file.endswith(".py"):
        return module_name == "__main__"
    path = Path(file).absolute()
    is_installed = {"site-packages", "dist-packages"} & {*path.parts} or path.is_relative_to(Path(ast.__file__).parent)
    return not is_installed and not path.is_relative_to(_OURS)


def _source(module: ModuleType) -> str:
    """Return the text of a module; of a notebook, that of its cells in the order in which they were run."""
    if (shell := sys.modules.get("IPython")) is None or hasattr(module, "__file__"):
        return inspect.getsource(module)
    return "\n".join(shell.get_ipython().history_manager.input_hist_parsed)


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines; "*" where it imports all of a module."""
    definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = set()
    for node in [statement] if isinstance(statement, definition) else ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, definition):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names
