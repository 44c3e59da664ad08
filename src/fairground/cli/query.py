"""`fairground query INDEX IMAGE|FOLDER`: the most similar pictures, and whether any is a match."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.cli.options import AsJson

HELP_ORDER = 140

if TYPE_CHECKING:
    from fairground.deploy.index import Index
    from fairground.deploy.query import QueryResult


def query(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="A folder that `fairground index` wrote.")],
    data: Annotated[str, typer.Argument(metavar="IMAGE|FOLDER", help="What to search for: pictures, or features.")],
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many neighbours.")] = 10,
    threshold: Annotated[
        str,
        typer.Option(
            "--threshold", help="What is a match: fmr (1 % false matches on validation), eer, a similarity, or none."
        ),
    ] = "fmr",
    page: Annotated[Path | None, typer.Option("--page", help="Also write an HTML page with the pictures.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Search exactly even where an approximate search is.")] = False,
    approximate: Annotated[bool, typer.Option("--approximate", help="Search approximately, with faiss.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search an index by example: exact, with a decision whose error rates were measured on validation classes.

    Example: fairground query my_index picture.jpg -k 5 --page matches.html
    """
    from fairground.deploy.index import How, open_index
    from fairground.deploy.query import query_index, rule_of
    from fairground.errors import require
    from fairground.report.headings import clean

    require(not (exact and approximate), "--exact and --approximate cannot both be meant")
    how: How = "exact" if exact else "approximate" if approximate else "auto"
    opened = open_index(index)
    rule = rule_of(opened, threshold)
    results = query_index(opened, data, k=k, rule=rule, how=how, pictures=page is not None)
    sentence = rule.sentence(len(opened))
    if page is not None:
        _write_page(opened, results, sentence, page)
    if as_json:
        found = [{**asdict(result), "picture": None, "is_match": result.is_match} for result in results]
        calibrated = None if rule.calibrated is None else asdict(rule.calibrated)
        for one in found:
            del one["picture"]
        print(json.dumps({"threshold": rule.similarity, "calibrated": calibrated, "answers": found}))
        return
    for result in results:
        print(f"{clean(result.query)}  {clean(result.verdict)}")
        for neighbour in result.neighbours:
            label = "" if neighbour.label is None else f"  [{clean(neighbour.label)}]"
            print(f"  {neighbour.similarity:.4f}  {clean(neighbour.name)}{label}")
    print(sentence)
    if page is not None:
        print(f"wrote {page}")


def _write_page(index: "Index", results: Sequence["QueryResult"], sentence: str, page: Path) -> None:
    from fairground.report.query_page import MOST, Found, Searched, write_matches

    small = index.thumbnails
    searched = [
        Searched(
            name=result.query,
            verdict=result.verdict,
            is_match=result.is_match,
            picture=result.picture,
            found=tuple(
                Found(
                    name=neighbour.name,
                    label=neighbour.label,
                    similarity=neighbour.similarity,
                    is_match=neighbour.is_match,
                    # Pictures beyond those a page shows need not be read.
                    picture=None if small is None or number >= MOST else small[neighbour.row],
                )
                for neighbour in result.neighbours
            ),
        )
        for number, result in enumerate(results)
    ]
    write_matches(searched, title=f"Found in {index.folder.name}", threshold=sentence, out=page)
