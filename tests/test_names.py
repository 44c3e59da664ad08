"""Names: one class name has one meaning in the package, and a file, class, function or field says what it holds."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "fairground"
#: words that say nothing to a reader who meets the project for the first time
THEATRE = frozenset(
    [
        "asking",
        "attendant",
        "belief",
        "beside",
        "book",
        "bury",
        "crew",
        "facts",
        "hand",
        "heard",
        "hire",
        "hired",
        "looks",
        "luggage",
        "outlook",
        "outsiders",
        "panel",
        "pilot",
        "plate",
        "porter",
        "sink",
        "story",
        "told",
        "together",
        "twins",
        "underway",
        "vitals",
        "walk",
        "whole",
    ]
)
#: names that stay, and why; one that is gone must leave this list
KEPT = {
    "sampling.distance_histograms.DistanceHistograms.whole": "the whole set, against its parts",
    "statistics.sequential.Plan.looks": "interim looks are the words of sequential analysis",
    "statistics.sequential.Wave.n_looks": "interim looks are the words of sequential analysis",
    "study.wave_status.WaveStatus.n_looks": "interim looks are the words of sequential analysis",
    "records.database.told_in_a_sentence": "renamed with the checks of damaged stores",
    "training.checkpoint.Snapshot.facts": "renamed with the checks of damaged checkpoints",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        dotted = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield dotted, ast.parse(path.read_text(encoding="utf-8"))


def words_of(name: str) -> set[str]:
    return {word.lower() for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name) if word}


def names_in(module: str, tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names of a file, its classes and functions, and its public constants and fields."""
    yield module
    scopes: list[tuple[str, ast.Module | ast.ClassDef]] = [(module, tree)]
    while scopes:
        scope, node = scopes.pop()
        for child in node.body:
            if isinstance(child, ast.ClassDef):
                scopes.append((f"{scope}.{child.name}", child))
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield f"{scope}.{child.name}"
            targets = child.targets if isinstance(child, ast.Assign) else [getattr(child, "target", None)]
            yield from (f"{scope}.{target.id}" for target in targets if isinstance(target, ast.Name))


def test_no_two_public_classes_share_a_name():
    places = defaultdict(list)
    for module, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared == {}


def test_names_use_the_words_of_the_field():
    found = set()
    for module, tree in modules():
        for name in names_in(module, tree):
            last = name.rpartition(".")[2]
            if words_of(last) & THEATRE:
                found.add(name)
    assert found == set(KEPT)
