"""Write the type stubs of the packages whose names are found lazily, from what is in them.

    python scripts/write_stubs.py            # `make format` does it
    python scripts/write_stubs.py --check    # `make check` does it: names the stubs that are out of date, writes none

Editors and type checkers read stubs instead of running `__getattr__`. A stub imports every class from its own file, so
that signatures are never written twice; only the list of names is, and that is what this script makes.
"""

import argparse
import ast
import sys
from collections import Counter
from pathlib import Path

import fairground
from fairground.spec import catalogue

PACKAGE = Path(fairground.__file__).parent
HEAD = "# Written by scripts/write_stubs.py, which `make format` runs: do not edit.\n"


def stubs() -> dict[Path, str]:
    """Return the text of every stub by its path."""
    found = {PACKAGE / room / "__init__.pyi": _room(room) for room in catalogue.ROOMS}
    # What all rooms stand on.
    trees = {stem: ast.parse((PACKAGE / f"{stem}.py").read_bytes()) for stem in ("errors", "files")}
    below = [(f"fairground.{stem}", name) for stem, tree in trees.items() for name in _names(tree)]
    for init in PACKAGE.glob("*/__init__.py"):
        if "lazy_names(__name__)" in init.read_text(encoding="utf-8"):
            own = _defined(init.parent)
            taken = {name for _, name in own} | {path.stem for path in init.parent.glob("*.py")}
            found[init.with_suffix(".pyi")] = _stub([*own, *(place for place in below if place[1] not in taken)])
    found[PACKAGE / "__init__.pyi"] = _front_door()
    return found


def _room(room: str) -> str:
    return _stub(
        [(f"fairground.{room}.{word}", catalogue.class_name(room, word)) for word in catalogue.list_room(room)]
    )


def _defined(room: Path) -> list[tuple[str, str]]:
    """Return every public name that one file of a room alone defines, with that file's module."""
    files = {path.stem: ast.parse(path.read_bytes()) for path in room.glob("*.py") if not path.stem.startswith("_")}
    found = [(f"fairground.{room.name}.{stem}", name) for stem, tree in files.items() for name in _names(tree)]
    counts = Counter([*files, *(name for _, name in found)])
    return [(module, name) for module, name in found if counts[name] == 1]


def _names(tree: ast.Module) -> set[str]:
    """Return the public names that a module defines at its top level."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {part.id for target in targets if target for part in ast.walk(target) if isinstance(part, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def _front_door() -> str:
    rooms = [("fairground", room) for room in (*fairground._ROOMS, *fairground._MODULES)]
    verbs = [tuple(place.split(":")) for place in fairground._VERBS.values()]
    return _stub([*rooms, *verbs], before="__version__: str\n", also=["__version__"])


def _stub(names: list[tuple[str, ...]], *, before: str = "", also: list[str] | None = None) -> str:
    imports = "".join(f"from {module} import {name}\n" for module, name in sorted(names))
    listed = "".join(f'    "{name}",\n' for name in sorted([*(also or []), *(name for _, name in names)]))
    return f"{HEAD}{imports}\n{before}__all__ = [\n{listed}]\n"


def outdated() -> list[Path]:
    """Return the stubs that do not say what is there."""
    return [path for path, text in stubs().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]


def main(arguments: list[str] | None = None) -> int:
    """Write the stubs, or say which are out of date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if a stub is out of date")
    is_check = parser.parse_args(arguments).check
    changed = outdated()
    for path in changed:
        if is_check:
            print(f"{path.relative_to(PACKAGE.parent)} is out of date: run `make format`", file=sys.stderr)
        else:
            path.write_text(stubs()[path], encoding="utf-8")
            print(f"wrote {path.relative_to(PACKAGE.parent)}")
    return 1 if is_check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
