"""A run found by the beginning of its name."""

from glob import escape
from pathlib import Path

from fairground.records import folder_names
from fairground.spec import nearest, require

#: what the names of imported runs begin with
IMPORTED = "imported-"


def resolve_run(root: Path, name: str) -> str:
    """Return the whole name of a run that was begun, finished or not, from the beginning of its name."""
    folders = sorted(folder_names(root))
    begun = [run for run in folders if run.startswith(IMPORTED) or (root / "runs" / run / "spec.json").exists()]
    return own_run(resolved(name, begun, root))


def own_run(name: str) -> str:
    refusal = f"run {name} is imported: only its scores are here, so it cannot be trained, measured or repeated"
    require(not name.startswith(IMPORTED), refusal)
    return name


def resolved(name: str, known: list[str], root: Path) -> str:
    """Return the one of the `known` runs that is called `name` or is the only one to begin with it."""
    if name in known:
        return name
    found = [run for run in known if run.startswith(name)] if name else []
    hint = nearest(name, known) or ("" if known else " There are no runs yet.")
    if name and (pages := list(root.glob(f"recommendations/{escape(name)}*/report.html"))):
        hint = f" That is a recommendation; its page is {pages[0]}."
    require(len(found) > 0, f"no run '{name}' in {root}.{hint}")
    some = ", ".join(found[:4]) + (", ..." if len(found) > 4 else "")
    require(len(found) == 1, f"'{name}' could be {some}: type more of the name")
    return found[0]
