"""`fairground query INDEX IMAGE|FOLDER ...`: the class of each picture, or that it is unknown, and what is like it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairground.commands.options import AsJson, Quiet
from fairground.commands.progress import counted
from fairground.commands.terminal import print_fitted

if TYPE_CHECKING:
    from fairground.deploy.index import Index
    from fairground.deploy.query import QueryResult
    from fairground.deploy.unknown_classes import DecisionRule


def query(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="A folder that `fairground index` wrote.")],
    data: Annotated[
        list[str], typer.Argument(metavar="IMAGE|FOLDER...", help="What to search for: pictures, folders, or features.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many neighbours.")] = 10,
    fpir: Annotated[
        float,
        typer.Option("--fpir", help="Per cent of pictures of unknown classes that may be given a class, at most."),
    ] = 5.0,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Name a class from this similarity on, instead of --fpir.")
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", help="Also write an HTML page with the pictures.")] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say for each picture which class of the index it has, or that it is unknown, with the nearest rows.

    At most --fpir per cent of pictures of unknown classes are given a class: calibrated on the classes of the index
    that the model was not trained on, each left out in turn. With too few of them there is no decision.

    Example: fairground query my_index picture.jpg another.jpg -k 5 --page found.html
    """
    from fairground.deploy.index import open_index
    from fairground.deploy.query import query_index, read_queries
    from fairground.deploy.unknown_classes import rule_of
    from fairground.errors import require

    require(0 < fpir < 100, f"--fpir is in per cent, between 0 and 100; got {fpir:g}")
    inputs = read_queries(data)
    opened = open_index(index)
    with counted("calibrating", is_quiet=quiet) as tell:
        rule = rule_of(
            opened, fpir=fpir / 100, threshold=threshold, tell=lambda done, of: tell("calibrating", done, of)
        )
        results = []
        for number, some in enumerate(inputs):
            tell("searching", number, len(inputs))
            results += query_index(opened, some, k=k, rule=rule, pictures=page is not None)
    if page is not None:
        _write_page(opened, results, rule, page)
    if as_json:
        print(json.dumps(_as_data(rule, results)))
        return
    _print(results, rule)
    if page is not None:
        print(f"wrote {page}")


def _print(results: Sequence["QueryResult"], rule: "DecisionRule") -> None:
    from fairground.reporting.headings import clean

    for result in results:
        print_fitted(f"{clean(result.query)}: {clean(result.decision.text)}{_truth(result)}")
        if result.classes:
            named = ", ".join(f"{clean(one.label)} {one.similarity:.3f}" for one in result.classes)
            print_fitted(f"  nearest classes: {named}")
        for neighbour in result.neighbours:
            label = "" if neighbour.label is None else f"  [{clean(neighbour.label)}]"
            print_fitted(f"  {neighbour.similarity:.4f}  {clean(neighbour.name)}{label}", indent=8)
    if len(results) > 1:
        print_fitted(summary(results))
    print_fitted(rule.sentence())


def _truth(result: "QueryResult") -> str:
    from fairground.reporting.headings import clean

    if result.is_right is None or result.truth is None:
        return ""
    known = "" if result.is_truth_indexed else ", not in the index"
    return f" - {'right' if result.is_right else f'wrong, it is {clean(result.truth)}'}{known}"


def summary(results: Sequence["QueryResult"]) -> str:
    """Return how many queries were given a class and, where their classes are known, how many decisions are right."""
    decided = [result for result in results if result.decision.is_known is not None]
    if not decided:
        return f"{len(results)} pictures, no decision."
    n_known = sum(bool(result.decision.is_known) for result in decided)
    said = f"{len(results)} pictures: {n_known} given a class, {len(decided) - n_known} unknown."
    strange = [result for result in decided if result.truth is not None and not result.is_truth_indexed]
    indexed = [result for result in decided if result.truth is not None and result.is_truth_indexed]
    if strange:
        wrong = sum(not result.is_right for result in strange)
        share = 100 * wrong / len(strange)
        said += f" Of {len(strange)} whose class is not in the index {wrong} ({share:.1f} %) were given one."
    if indexed:
        right = sum(bool(result.is_right) for result in indexed)
        share = 100 * right / len(indexed)
        said += f" Of {len(indexed)} whose class is in the index {right} ({share:.1f} %) were given it."
    return said


def _as_data(rule: "DecisionRule", results: Sequence["QueryResult"]) -> dict[str, Any]:
    answers = []
    for result in results:
        found = asdict(result)
        del found["picture"]
        answers.append({**found, "is_right": result.is_right})
    measured = rule.measured_fpir
    return {
        "threshold": rule.threshold,
        "fpir": rule.fpir,
        "measured_fpir": None if measured is None else dict(zip(("rate", "low", "high"), measured, strict=True)),
        "calibration_classes": None if rule.trials is None else rule.trials.conformal.n_classes,
        "why_no_decision": rule.why_not or None,
        "answers": answers,
    }


def _write_page(index: "Index", results: Sequence["QueryResult"], rule: "DecisionRule", page: Path) -> None:
    from fairground.reporting.picture_pages import MOST, Found, Searched, write_answers

    searched = [
        Searched(
            name=result.query,
            decision=result.decision.text,
            is_known=result.decision.is_known,
            is_right=result.is_right,
            truth=result.truth,
            is_truth_indexed=result.is_truth_indexed,
            nearest=", ".join(f"{one.label} {one.similarity:.3f}" for one in result.classes),
            picture=result.picture,
            found=tuple(
                Found(
                    name=neighbour.name,
                    label=neighbour.label,
                    similarity=neighbour.similarity,
                    is_right=None if result.truth is None else neighbour.label == result.truth,
                    # Pictures beyond those a page shows need not be read.
                    picture=None if number >= MOST else index.thumbnail(neighbour.id),
                )
                for neighbour in result.neighbours
            ),
        )
        for number, result in enumerate(results)
    ]
    lead = f"{summary(results)} {rule.sentence()}" if len(results) > 1 else rule.sentence()
    write_answers(searched, title=f"Found in {index.folder.name}", lead=lead, out=page)
