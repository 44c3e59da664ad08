"""Print how large the package is and through how many files its commands walk, each beside its goal.

    python scripts/house.py            # what can be counted: seconds
    python scripts/house.py --walks    # `make house` does it: also runs four commands and counts the files they use

Methods published since 2020 have a budget of their own: goals are for what is left without them.

A walk is the number of our files in which anything ran while a command did its work on two batches of the embedded
icons, the bodies of modules aside: what a reader who follows the command has to open. Functions compiled by numba are
not seen.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import FrameType

Import = ast.Import | ast.ImportFrom

ROOT = Path(__file__).resolve().parents[1]
# Found by their names or called by the user: that one other module imports such a file says nothing about it.
PARTS = {"losses", "miners", "regularisers", "samplers", "heads", "trunks", "datasets", "transforms", "splits"}
FOUND_BY_NAME = PARTS | {"metrics", "analysis", "api", "cli", "commands"}
#: files that are about methods since 2020 alone, by folder
SINCE_2020 = {
    "src/fairground": """
        commands/frontier deploy/quantised_rows deploy/vector_frontier evaluation/pairs_by_class evaluation/reranking
        functional/decoupling heads/self_distilled losses/adaface losses/adasp losses/elasticface losses/hierarchical_ap
        losses/hist losses/magface losses/matryoshka losses/pairwise_cross_entropy losses/self_distillation
        losses/sigmoid_pairs losses/unified_cross_entropy metrics/acg metrics/asi metrics/hierarchical_ap
        metrics/level_ap metrics/opis metrics/weighted_map regularisers/threshold_consistent_margin
        reporting/frontier_page retrieval/poincare_ball retrieval/query_expansion retrieval/reciprocal_neighbours
        splits/oodml_cars196 splits/rising_distance training/few_shot trunks/efficientnet_lite1
        trunks/efficientnet_lite2 trunks/joined""",
    "tests": """
        deploy/test_quantised_rows evaluation/test_poincare evaluation/test_relevance evaluation/test_reranking
        losses/test_since_2020 metrics/test_consistency_metrics metrics/test_graded_metrics
        reporting/test_frontier_page_in_browser splits/test_rising_distance training/test_few_shot""",
}
#: and their lines in files that other code shares, counted by hand when they came
SHARED = {"src/fairground": 1_041, "tests": 1_092}
STUDY = """
question = "Through which files does a study walk?"
protocol = "laptop"
overrides = ["training.batch_size=32"]
repeats = 2
budget = { epochs = 1, batches_per_epoch = 2 }
data = { icons = ["data=icons"] }
search = { trials = 1 }
folds = { split = "class_folds", n = 2 }
[methods]
contrastive = ["loss=contrastive"]
triplet = ["loss=triplet", "miner=distance_weighted"]
"""
RUN = "loss=triplet miner=distance_weighted training.batch_size=32 training.epochs=1 training.batches_per_epoch=2"
# Each command's words, the folder its runs are in and its goal. A report and a comparison read what the study left.
WALKS = {
    "train": (RUN.split(), "train", 100),
    "study": (["study.toml", "--executor", "inline"], "study", 160),
    "report": ([], "study", 80),
    "compare": ([], "study", 55),
}


@dataclass(frozen=True)
class Measure:
    """One row of the table: what is measured, its value now, and the most it should be without methods since 2020."""

    name: str
    now: float
    goal: int
    unit: str = ""
    since_2020: int = 0

    def row(self) -> str:
        """Return the row in Markdown."""
        now = f"{self.now:.1f}" if isinstance(self.now, float) else f"{self.now:,}"
        parts = f"{self.since_2020:,} | {self.now - self.since_2020:,}" if self.since_2020 else " | "
        return f"| {self.name} | {now}{self.unit} | {parts} | ≤ {self.goal:,}{self.unit} |"


def count(root: Path) -> list[Measure]:
    """Return what can be counted in the files of a checkout without running any."""
    package = root / "src" / "fairground"
    paths = list((root / "src").rglob("*.py"))
    imports = {module_of(path, root / "src"): imports_in(path) for path in paths}
    uses = {module_of(path, root / "src"): names_of(path, root / "src") for path in paths}
    n_lines = lines_below(package)
    return [
        Measure("lines of `src/fairground`", n_lines, 40_000, since_2020=lines_since_2020(root, "src/fairground")),
        Measure("files in `src`", len(paths), 400, since_2020=len(files_since_2020(root, "src/fairground"))),
        Measure("rooms in `src/fairground`", len(rooms(package)), 30),
        Measure("lines that import", 100 * sum(map(lines_of, imports.values())) / n_lines, 6, " %"),
        Measure("modules that one other module imports", len(imported_once(uses)), 40),
        Measure("lines of `tests`", lines_below(root / "tests"), 28_000, since_2020=lines_since_2020(root, "tests")),
    ]


def lines_below(folder: Path) -> int:
    """Return the number of lines of all Python files in a folder and those below it."""
    return lines_in(folder.rglob("*.py"))


def lines_in(paths: Iterable[Path]) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in paths)


def files_since_2020(root: Path, folder: str) -> list[Path]:
    found = [root / folder / f"{name}.py" for name in SINCE_2020[folder].split()]
    return [path for path in found if path.is_file()]


def lines_since_2020(root: Path, folder: str) -> int:
    """Return the lines of methods since 2020: whole files, and what was counted by hand if any of these is there."""
    files = files_since_2020(root, folder)
    return lines_in(files) + SHARED[folder] * bool(files)


def rooms(package: Path) -> set[str]:
    """Return the folders of a package; one left with nothing but cached bytecode is not there."""
    files = (path.relative_to(package) for path in package.rglob("*") if path.is_file())
    return {path.parts[0] for path in files if len(path.parts) > 1 and "__pycache__" not in path.parts}


def imports_in(path: Path) -> list[Import]:
    """Return every import statement of a file, at any depth."""
    return [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, Import)]


def lines_of(imports: list[Import]) -> int:
    """Return the number of lines that the import statements of one file stand on."""
    return len({line for node in imports for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)})


def imported_once(uses: dict[str, set[str]]) -> list[str]:
    """Return the modules that exactly one other module imports, but for packages and what is found by its name."""
    importers = Counter(name for module, names in uses.items() for name in names & (uses.keys() - {module}))
    return sorted(name for name, n in importers.items() if n == 1 and name.split(".")[1] not in FOUND_BY_NAME)


def module_of(path: Path, source: Path) -> str:
    """Return the dotted name of a file."""
    return ".".join(path.relative_to(source).with_suffix("").parts)


def names_of(path: Path, source: Path) -> set[str]:
    """Return all dotted names a file imports: modules, what is in them, and the files behind the names of rooms."""
    names: set[str] = set()
    rooms: dict[str, str] = {}
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = module_of(path, source).split(".")[: -node.level] if node.level else []
            package = ".".join([*above, *filter(None, [node.module])])
            names |= {package, *(f"{package}.{alias.name}" for alias in node.names)}
            rooms |= {alias.asname or alias.name: f"{package}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in rooms:
            names.add(f"{rooms[node.value.id]}.{node.attr}")
    return names | {home for name in names if (home := behind(source).get(name))}


@cache
def behind(source: Path) -> dict[str, str]:
    """Return the module that defines each name that a room offers, as the rooms' stubs list them."""
    listed = ((stub, ast.parse(stub.read_bytes())) for stub in source.rglob("__init__.pyi"))
    return {
        f"{module_of(stub.parent, source)}.{alias.name}": str(node.module)
        for stub, tree in listed
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def walk_all() -> list[Measure]:
    """Run every command in a process of its own and return through how many files each walked."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.toml").write_text(STUDY, encoding="utf-8")
        return [
            Measure(f"files in which code runs for `{command}`", walk(command, words, Path(folder), home), goal)
            for command, (words, home, goal) in WALKS.items()
        ]


def walk(command: str, words: list[str], folder: Path, home: str) -> int:
    """Run one command and return the number of files in which a function ran."""
    found = folder / f"{command}.txt"
    line = [sys.executable, __file__, "--follow", str(found), "--", command, *words, "--home", home]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"`fairground {command}` ended with {done.returncode}:\n{done.stderr}")
    return int(found.read_text(encoding="utf-8"))


def follow(words: list[str], found: Path) -> None:
    """Run a command in this process and write down in how many files of ours a function ran."""
    from fairground.__main__ import main as run

    package = str(ROOT / "src" / "fairground") + os.sep
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and code.co_name != "<module>":
            files.add(code.co_filename)

    sys.argv = ["fairground", *words]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        found.write_text(str(len(files)), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--walks", action="store_true", help="also run four commands and count the files they use")
    parser.add_argument("--json", action="store_true", help="print JSON for another program instead of a table")
    parser.add_argument("--follow", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.follow:
        follow(asked.words, asked.follow)
        return
    measures = count(ROOT) + (walk_all() if asked.walks else [])
    if asked.json:
        print(json.dumps([asdict(measure) for measure in measures], indent=2, ensure_ascii=False))
    else:
        header = ["| measure | now | of it, methods since 2020 | without | goal |", "|-|-|-|-|-|"]
        print("\n".join([*header, *(measure.row() for measure in measures)]))


if __name__ == "__main__":
    main()
