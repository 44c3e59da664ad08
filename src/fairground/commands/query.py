"""`fairground query INDEX IMAGE|FOLDER ...`: the class of each image, or that it is unknown, and its neighbours."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

from fairground import deploy, reporting
from fairground.commands import Answer, Device, Quiet, Rerank, Verbatim, counted, fitted, require, screen_width


def query(
    index: Annotated[Path, "INDEX", "A folder that `fairground index` wrote."],
    data: Annotated[list[str], "IMAGE|FOLDER...", "Images, folders, or features."],
    k: Annotated[int, "-k", "Number of neighbours.", {"min": 1, "max": 1000}] = 10,
    fpir: Annotated[float, "Largest per cent of images of unknown classes that may be given a class."] = 5.0,
    threshold: Annotated[float | None, "Smallest similarity to name a class, instead of --fpir."] = None,
    rerank: Rerank = "none",
    page: Annotated[Path | None, "Also write an HTML page with the images."] = None,
    device: Device = "auto",
    quiet: Quiet = False,
) -> Answer:
    """Name each image's class in the index, or call it unknown, and list the nearest rows.

    At most --fpir per cent of images of unknown classes are given a class: calibrated on the classes of the index
    that the model was not trained on, each left out in turn. With too few of them there is no decision.

    Example: fairground query my_index picture.jpg another.jpg -k 5 --page found.html
    """
    require(0 < fpir < 100, f"--fpir is in per cent, between 0 and 100; got {fpir:g}")
    inputs = deploy.read_queries(data)
    opened = deploy.open_index(index, device=device)
    with counted("calibrating", is_quiet=quiet) as tell:
        rule = deploy.rule_of(opened, fpir=fpir / 100, threshold=threshold, tell=partial(tell, "calibrating"))
        results = []
        for number, some in enumerate(inputs):
            tell("searching", number, len(inputs))
            results += deploy.query_index(opened, some, k=k, rule=rule, pictures=page is not None, rerank=rerank)
    lead = [_summary(results), rule.sentence()] if len(results) > 1 else [rule.sentence()]
    if rerank != "none":
        lead.append("Neighbours are re-ranked, which looks at the whole index; similarities and decisions are plain.")
    if page is not None:
        title = f"Found in {opened.folder.name}"
        reporting.write_answers(results, picture_of=opened.thumbnail, title=title, lead=" ".join(lead), out=page)
    lines = [*(line for result in results for line in _lines(result)), *lead]
    answers = [asdict(result) | {"is_right": result.is_right} for result in results]
    for answer in answers:
        del answer["picture"]
    measured = rule.measured_fpir
    plain = {
        "threshold": rule.threshold,
        "fpir": rule.fpir,
        "measured_fpir": None if measured is None else dict(zip(("rate", "low", "high"), measured, strict=True)),
        "calibration_classes": None if rule.trials is None else rule.trials.n_classes,
        "why_no_decision": rule.why_not or None,
        "answers": answers,
    }
    plain |= {} if rerank == "none" else {"rerank": rerank}
    return Answer(plain, [*lines, *([Verbatim(f"wrote {page}")] if page is not None else [])])


def _lines(result: "deploy.QueryResult") -> Iterator[str]:
    right = ""
    if result.is_right is not None:
        right = " - right" if result.is_right else f" - wrong, it is {reporting.clean(result.truth or '')}"
        right += "" if result.is_truth_indexed else ", not in the index"
    yield f"{reporting.clean(result.query)}: {reporting.clean(result.decision.text)}{right}"
    if result.classes:
        yield f"  nearest classes: {reporting.clean(result.nearest)}"
    for neighbour in result.neighbours:
        label = "" if neighbour.label is None else f"  [{reporting.clean(neighbour.label)}]"
        line = f"  {neighbour.similarity:.4f}  {reporting.clean(neighbour.name)}{label}"
        yield Verbatim(fitted(line, screen_width(), indent=8))


def _summary(results: Sequence["deploy.QueryResult"]) -> str:
    """Count the images that were given a class and, where their classes are known, the decisions that are right."""
    decided = [result for result in results if result.decision.is_known is not None]
    if not decided:
        return f"{len(results)} pictures, no decision."
    n_known = sum(bool(result.decision.is_known) for result in decided)
    text = f"{len(results)} pictures: {n_known} given a class, {len(decided) - n_known} unknown."
    for is_indexed, where, what in ((False, "not in", "one"), (True, "in", "it")):
        found = [one for one in decided if one.truth is not None and one.is_truth_indexed == is_indexed]
        if found:
            n = sum(bool(one.is_right) == is_indexed for one in found)
            share = f"{n} ({100 * n / len(found):.1f} %)"
            text += f" Of {len(found)} whose class is {where} the index {share} were given {what}."
    return text
