"""What can be known of an outside class before its module is imported, which runs whatever stands in it.

Read from the module's source: whether it defines the name at all, as a class, and one that derives from something.
Where the source cannot be found or does not say, nothing is known, and importing it decides.
"""

import ast
import sys
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from fairground.errors import InputError, require
from fairground.files import read_text


def require_class(path: str) -> None:
    """Refuse `package.module:name` where the source shows that it cannot be a part; nothing is imported."""
    module, _, name = path.partition(":")
    body = None if module in sys.modules else _body_of(module)
    if body is None:
        return
    found = [node for node in _statements(body) if name in _names_of(node)]
    if not found:
        is_open = any(_is_open(node) for node in _statements(body))
        known = {other for node in _statements(body) for other in _names_of(node)}
        close = get_close_matches(name, known, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        require(is_open, f"'{module}' has no '{name}', by its source; it was not imported.{hint}")
        return
    node = found[-1]
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    require(not is_function, f"'{path}' is not a class; its module was not imported")
    is_rootless = isinstance(node, ast.ClassDef) and not node.bases and not node.keywords
    require(
        not is_rootless,
        f"'{path}' cannot be a part: a part derives from one of fairground's classes or from a torch module, and this "
        "class derives from nothing. Its module was not imported",
    )


def _body_of(module: str) -> list[ast.stmt] | None:
    source = _source_of(module)
    if source is None:
        return None
    try:
        return ast.parse(read_text(source)).body
    except (InputError, SyntaxError, ValueError, RecursionError):
        return None


def _source_of(module: str) -> Path | None:
    """Return a module's file; asking Python itself for `a.b` would import `a`."""
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    for name in rest[:-1]:
        folders = [folder / name for folder in folders]
    files = [file for folder in folders for file in (folder / f"{rest[-1]}.py", folder / rest[-1] / "__init__.py")]
    return next((file for file in files if file.is_file()), None)


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements at the top of a module, those under `if`, `try` and `with` too."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for part in ("body", "orelse", "finalbody"):
                found += _statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                found += _statements(handler.body)
    return found


def _names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {inner.id for target in targets if target for inner in ast.walk(target) if isinstance(inner, ast.Name)}


def _is_open(node: ast.stmt) -> bool:
    """Tell whether a statement may define names that cannot be read off it."""
    is_star = isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    is_lazy = isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
    is_dynamic = isinstance(node, ast.Expr | ast.For | ast.While) and any(
        isinstance(inner, ast.Name) and inner.id in ("globals", "exec", "setattr") for inner in ast.walk(node)
    )
    return is_star or is_lazy or is_dynamic
