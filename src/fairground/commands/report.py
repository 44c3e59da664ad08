"""Write the report page of some runs or of a study, with tables and figures for a paper."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home, Metric, Quiet, home_folder
from fairground.commands.progress import spinner
from fairground.commands.runs import Run, RunList
from fairground.commands.terminal import print_fitted
from fairground.errors import require
from fairground.files import write_atomically
from fairground.reporting.find_runs import find_runs
from fairground.reporting.run_set import SectionKey

if TYPE_CHECKING:
    from fairground.reporting.figure import FigureInputs

#: ending of a table's file -> the function of `table_formats` that writes it
FORMATS = {"md": "markdown", "tex": "latex", "csv": "csv_text"}
FIGURES = ("pdf", "svg", "png")


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was written; used as a path it is the page."""

    page: Path
    tables: tuple[Path, ...]
    figures: tuple[Path, ...]
    runs: tuple[str, ...]

    def __fspath__(self) -> str:
        return str(self.page)


def report(
    *what: str | Run | RunList,
    out: str | os.PathLike[str] | None = None,
    formats: Sequence[str] = (),
    figures: str = "",
    figures_in: str | os.PathLike[str] | None = None,
    metric: str | None = None,
    title: str = "",
    audits: Sequence[str | os.PathLike[str]] = (),
    home: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> Report:
    """Write one self-contained page: the answer, the tables, the papers' figures, maps, galleries and warnings.

    `what` is a study by name or hash; or runs, runs by name, or methods by hash; all runs (default).
    `formats` are tables beside the page ("md", "tex", "csv"), `figures` the kind of files for a paper ("pdf", "svg",
    "png"), `audits` files that `fairground data check --json` wrote.
    """
    for kind in formats:
        require(kind in FORMATS, f"formats takes {', '.join(FORMATS)}; got '{kind}'")
    require(figures in ("", *FIGURES), f"figures takes {', '.join(FIGURES)}; got '{figures}'")
    names, folder = _named(what, None if home is None else Path(home))
    from fairground.reporting.page import build_page, inputs_of, read_audit

    cards = [read_audit(Path(path)) for path in audits]
    found = find_runs(names, folder)
    found = replace(found, metric=metric, title=title or found.title)
    page = folder / "report.html" if out is None else Path(out)
    with spinner(f"drawing a page of {len(found.records)} runs", is_quiet=quiet):
        sections = inputs_of(found)
        build_page(found, out=page, audits=cards, inputs=sections)
        tables = _write_tables(sections, page, formats)
        drawn = _write_figures(sections, Path(figures_in or page.with_name(f"{page.stem}-figures")), figures)
    return Report(
        page=page, tables=tuple(tables), figures=tuple(drawn), runs=tuple(record.name for record in found.records)
    )


def _named(what: Sequence[str | Run | RunList], home: Path | None) -> tuple[list[str], Path]:
    """Return the names of what to report, and its run directory."""
    names: list[str] = []
    homes: list[Path] = [] if home is None else [home]
    for one in what:
        if isinstance(one, str):
            names.append(one)
            continue
        runs = [one] if isinstance(one, Run) else list(one)
        require(len(runs) > 0, "there is no run to report: `fg.runs` found none")
        names += [run.name for run in runs]
        homes += [run.home for run in runs]
    places = list(dict.fromkeys(homes)) or [home_folder()]
    require(len(places) == 1, f"a page reports runs of one run directory; got {', '.join(map(str, places))}")
    return names, places[0]


def _write_tables(sections: Mapping[SectionKey, "FigureInputs"], page: Path, kinds: Sequence[str]) -> list[Path]:
    from fairground.reporting import table_formats

    written: list[Path] = []
    for key, inputs in sections.items():
        for kind in kinds:
            path = page.with_name(f"{page.stem}{_suffix(key, len(sections))}.{kind}")
            write_atomically(path, getattr(table_formats, FORMATS[kind])(inputs.table).encode())
            written.append(path)
    return written


def _write_figures(sections: Mapping[SectionKey, "FigureInputs"], folder: Path, kind: str) -> list[Path]:
    from fairground.reporting.figure import write_figures

    written: list[Path] = []
    for key, inputs in sections.items() if kind else ():
        prefix = _suffix(key, len(sections)).lstrip("-")
        written += write_figures(inputs, folder, kind, prefix=f"{prefix}-" if prefix else "")
    return written


def _suffix(key: tuple[str, str], n_sections: int) -> str:
    """Return what distinguishes the files of several data sets, in characters that any file system takes."""
    words = re.sub(r"[^a-z0-9]+", "-", "-".join(key).lower()).strip("-")[:60]
    return f"-{words}" if n_sections > 1 else ""


def report_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY|RUN...]",
            help="A study by name or hash, runs by name, or methods by hash (default: all runs).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page (default: report.html in the run directory).")
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
    metric: Metric = None,
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
    written = report(
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
