"""`fairground report`: one page, tables and figures from the runs of a home or of a study."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.cli.options import HOME, AsJson, Home, Quiet

if TYPE_CHECKING:
    from fairground.report.run_set import RunSet

FORMATS = {"md": "markdown", "tex": "latex", "csv": "csv_text"}
FIGURES = ("pdf", "svg", "png")


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
    """Write one self-contained page: the answer, the tables, the papers' figures, maps, galleries and warnings.

    The page opens in any browser, from a disk or a mail, and asks no other host for anything.

    Examples: fairground report · fairground report tiny · fairground report --metric recall@1 · fairground report
    --formats md,tex,csv · fairground report --figures pdf
    """
    from fairground.cli.compare import searched_ranges
    from fairground.errors import require
    from fairground.report.audits import read_audit
    from fairground.report.find_runs import find_runs

    kinds = [word for word in formats.replace(" ", "").split(",") if word]
    for kind in kinds:
        require(kind in FORMATS, f"--formats takes {', '.join(FORMATS)}, separated by commas; got '{kind}'")
    require(figures in ("", *FIGURES), f"--figures takes {', '.join(FIGURES)}; got '{figures}'")
    audits = [read_audit(path) for path in audit or []]
    gathered = find_runs(words or [], home)
    gathered = gathered.looked_at(metric=metric, ranges=searched_ranges(gathered.records))
    page = out or home / "report.html"
    with _working(len(gathered.records), is_quiet=quiet or as_json):
        from fairground.report.page import build_page

        heading = title or gathered.title or f"{len(gathered.records)} runs"
        build_page(gathered.records, title=heading, out=page, sources=gathered.sources, audits=audits)
        tables = _write_tables(gathered, page, kinds)
        drawn = _write_figures(gathered, figures_in or page.with_name(f"{page.stem}-figures"), figures)
    if as_json:
        written = {
            "page": str(page),
            "tables": [str(path) for path in tables],
            "figures": [str(path) for path in drawn],
        }
        print(json.dumps({**written, "runs": [record.name for record in gathered.records]}))
        return
    print(f"page: {page.absolute()}  (open it in any browser)")
    for path in tables:
        print(f"table: {path.absolute()}")
    if drawn:
        print(f"{len(drawn)} figures: {drawn[0].parent.absolute()}")


def _write_tables(gathered: "RunSet", page: Path, kinds: Sequence[str]) -> list[Path]:
    from fairground.records.artefacts import write_atomically
    from fairground.report import table_formats as formats
    from fairground.report.sections import figure_inputs_of, places_of

    written = []
    places = places_of(gathered.records)
    for place, records in places.items() if kinds else ():
        table = figure_inputs_of(place, records, gathered.sources)[0].table
        for kind in kinds:
            path = page.with_name(f"{page.stem}{_suffix(place, len(places))}.{kind}")
            write_atomically(path, getattr(formats, FORMATS[kind])(table).encode())
            written.append(path)
    return written


def _write_figures(gathered: "RunSet", folder: Path, kind: str) -> list[Path]:
    from fairground.report.figure_files import write_figures
    from fairground.report.sections import figure_inputs_of, places_of

    written: list[Path] = []
    places = places_of(gathered.records)
    for place, records in places.items() if kind else ():
        material = figure_inputs_of(place, records, gathered.sources)[0]
        prefix = _suffix(place, len(places)).lstrip("-")
        written += write_figures(material, folder, kind, prefix=f"{prefix}-" if prefix else "")
    return written


def _suffix(place: tuple[str, str], n_places: int) -> str:
    """Return what tells the files of several data sets apart, of signs that any file system takes."""
    import re

    words = re.sub(r"[^a-z0-9]+", "-", "-".join(place).lower()).strip("-")[:60]
    return f"-{words}" if n_places > 1 else ""


def _working(n_runs: int, *, is_quiet: bool) -> "_Status":
    return _Status(f"drawing a page of {n_runs} runs", is_quiet=is_quiet)


class _Status:
    """A spinner on a terminal while the page is drawn, and nothing elsewhere."""

    def __init__(self, words: str, *, is_quiet: bool) -> None:
        import sys

        from fairground.cli.terminal import console

        is_seen = sys.stderr.isatty() and not is_quiet
        self._status = console().status(words) if is_seen else None

    def __enter__(self) -> None:
        if self._status is not None:
            self._status.start()

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
