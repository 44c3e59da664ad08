"""Write the report page of some runs or of a study, with tables and figures for a paper."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from fairground.commands import Answer, AnyPath, Verbatim, options, options_of, require, run_directory, spinner
from fairground.commands.runs import Run, names_and_runs
from fairground.reporting import find_runs, write_atomically

TABLES = ("md", "tex", "csv")
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
    *what: str | Run | Sequence[Run | str],
    out: Annotated[AnyPath | None, "-o", "The page (default: report.html in the run directory)."] = None,
    formats: Sequence[str] = (),
    figures: Annotated[str, "Also write the figures as files for a paper.", {"metavar": "pdf|svg|png"}] = "",
    metric: options.Metric = None,
    title: Annotated[str, "The page's title (default: the study's question)."] = "",
    home: run_directory.AnyHome = None,
    quiet: options.Quiet = False,
) -> Report:
    """Write one self-contained page: the answer, the tables, the papers' figures, maps, galleries and warnings.

    `what` is a study by name or hash; or runs, runs by name, methods by hash, or lists of these; all runs (default).
    `formats` are tables beside the page ("md", "tex", "csv"), `figures` the kind of files for a paper ("pdf", "svg",
    "png").
    """
    for kind in formats:
        require(kind in TABLES, f"formats takes {', '.join(TABLES)}; got '{kind}'")
    require(figures in ("", *FIGURES), f"figures takes {', '.join(FIGURES)}; got '{figures}'")
    names, folder = _named(what, None if home is None else Path(home))
    from fairground.reporting import build_page, inputs_of, table_formats, write_figures

    found = find_runs(names, folder)
    found = replace(found, metric=metric, title=title or found.title)
    page = folder / "report.html" if out is None else Path(out)
    if not (page.suffix or page.is_dir()):
        page = page.with_suffix(".html")
    with spinner(f"drawing a page of {len(found.records)} runs", is_quiet=quiet):
        sections = inputs_of(found)
        build_page(found, out=page, inputs=sections)
        tables, drawn = list[Path](), list[Path]()
        for key, inputs in sections.items():
            # What distinguishes the files of several data sets, in characters that any file system takes.
            words = re.sub(r"[^a-z0-9]+", "-", "-".join(key).lower()).strip("-")[:60] if len(sections) > 1 else ""
            for kind in formats:
                tables.append(page.with_name(f"{page.stem}{words and '-'}{words}.{kind}"))
                write_atomically(tables[-1], table_formats.FORMATS[kind](inputs.table).encode())
            if figures:
                place = page.with_name(f"{page.stem}-figures")
                drawn += write_figures(inputs, place, figures, prefix=f"{words}{words and '-'}")
    runs = tuple(record.name for record in found.records)
    return Report(page=page, tables=tuple(tables), figures=tuple(drawn), runs=runs)


def _named(what: Sequence[str | Run | Sequence[Run | str]], home: Path | None) -> tuple[list[str], Path]:
    names, runs = names_and_runs(what)
    require(len(names) + len(runs) > 0 or not what, "there is no run to report: `fg.runs` found none")
    homes = dict.fromkeys([*([] if home is None else [home]), *(run.home for run in runs)])
    places = list(homes) or [run_directory.home_folder()]
    require(len(places) == 1, f"a page reports runs of one run directory; got {', '.join(map(str, places))}")
    return [*names, *(run.name for run in runs)], places[0]


@options_of(report)
def report_command(
    words: options.Chosen = (),
    formats: Annotated[str, "Tables beside the page, as in md,tex,csv.", {"metavar": "md,tex,csv"}] = "",
    **settings: Any,
) -> Answer:
    """Write one self-contained page: the headline, the tables, the papers' figures, maps, galleries and warnings.

    The page opens in any browser, from a disk or a mail, and asks no other host for anything.

    Examples: fairground report · fairground report tiny · fairground report --metric recall@1 · fairground report
    --formats md,tex,csv · fairground report --figures pdf
    """
    written = report(*words, formats=options.split_names(formats) or (), **settings)
    lines = [f"page: {written.page.absolute()}  (open it in any browser)"]
    lines += [Verbatim(f"table: {path.absolute()}") for path in written.tables]
    if written.figures:
        lines.append(Verbatim(f"{len(written.figures)} figures: {written.figures[0].parent.absolute()}"))
    tables, figures = [str(path) for path in written.tables], [str(path) for path in written.figures]
    plain = {"page": str(written.page), "tables": tables, "figures": figures, "runs": list(written.runs)}
    return Answer(plain, lines)
