"""Run benchmarks and print their tables: `python -m benchmarks [name ...] [--write]`.

With `--write` each table replaces its own section of docs/benchmarks.md, so that the page is the command's output.
A benchmark is a module of this folder with a function `tables()` that yields finished tables; a module's `PAGE` names
another page for them.
"""

import argparse
import importlib
import os
import platform
import re
from pathlib import Path

from benchmarks import peak

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
#: run only when named: they take hours
LONG = {"recommend", "recommend_portfolio"}


def main() -> None:
    """Parse the arguments, run the chosen benchmarks, print and perhaps write their tables."""
    known = sorted(path.stem for path in HERE.glob("*.py") if "\ndef tables(" in path.read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"which to run, by default all but {', '.join(LONG)}: {', '.join(known)}",
    )
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    arguments = parser.parse_args()
    for name in arguments.names or [name for name in known if name not in LONG]:
        if name not in known:
            parser.error(f"no benchmark '{name}'; there are {', '.join(known)}")
        machine = f"{_machine()} {peak.sentence()}"
        print(f"## {name}\n\n{machine}\n", flush=True)
        text = ""
        module = importlib.import_module(f"benchmarks.{name}")
        for table in module.tables():
            print(table.markdown(), flush=True)
            text += table.markdown() + "\n"
        if arguments.write and text:
            _write(name, f"{machine}\n\n{text}", getattr(module, "PAGE", PAGE))


def _machine() -> str:
    import torch

    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    return f"{machine}, torch {torch.__version__}. Made by `make bench` (`python -m benchmarks`)."


def _write(name: str, text: str, path: Path) -> None:
    page = path.read_text(encoding="utf-8") if path.exists() else "# Benchmarks\n"
    section = f"<!-- begin {name} -->\n## {name.capitalize().replace('_', ' ')}\n\n{text}<!-- end {name} -->\n"
    pattern = re.compile(rf"<!-- begin {name} -->\n.*?<!-- end {name} -->\n", re.DOTALL)
    page = pattern.sub(lambda _: section, page) if pattern.search(page) else page.rstrip() + "\n\n" + section
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
