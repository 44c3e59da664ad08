"""`fairground report`: one page, tables and figures from the runs of a home or of a study."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fairground.api.terminal import print_fitted
from fairground.cli.options import HOME, AsJson, Home, Quiet

HELP_ORDER = 70


def report(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY|RUN...]",
            help="A study by name or hash; or runs by name, or methods by hash; all runs of the home when left out.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page (default: report.html in the home).")
    ] = None,
    formats: Annotated[
        str, typer.Option("--formats", help="Tables beside the page, as in md,tex,csv.", metavar="md,tex,csv")
    ] = "",
    figures: Annotated[
        str, typer.Option("--figures", help="Also write the figures as files for a paper.", metavar="pdf|svg|png")
    ] = "",
    figures_in: Annotated[
        Path | None, typer.Option("--figures-in", help="Where figures go (default: a folder beside the page).")
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="What to rank by (default: what the runs were selected by).")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The page's title (default: the study's question).")] = "",
    audit: Annotated[
        list[Path] | None,
        typer.Option("--audit", help="An audit of the data to show, as `fairground data check --json` prints it."),
    ] = None,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write one self-contained page: the headline, the tables, the papers' figures, maps, galleries and warnings.

    The page opens in any browser, from a disk or a mail, and asks no other host for anything.

    Examples: fairground report · fairground report tiny · fairground report --metric recall@1 · fairground report
    --formats md,tex,csv · fairground report --figures pdf
    """
    from fairground.api.report import report as write_report

    written = write_report(
        *(words or []),
        out=out,
        formats=[word for word in formats.replace(" ", "").split(",") if word],
        figures=figures,
        figures_in=figures_in,
        metric=metric,
        title=title,
        audits=audit or [],
        home=home,
        quiet=quiet or as_json,
    )
    if as_json:
        tables, drawn = [str(path) for path in written.tables], [str(path) for path in written.figures]
        plain = {"page": str(written.page), "tables": tables, "figures": drawn, "runs": list(written.runs)}
        print(json.dumps(plain))
        return
    print_fitted(f"page: {written.page.absolute()}  (open it in any browser)")
    for path in written.tables:
        print(f"table: {path.absolute()}")
    if written.figures:
        print(f"{len(written.figures)} figures: {written.figures[0].parent.absolute()}")
