"""One self-contained page: the question, the headline, and everything a reader needs to check it.

The file opens from a disk, a mail or a web server, makes no requests, and runs one short script that sorts and filters
tables and makes maps interactive. The templates escape every name, and the page's policy allows only that script.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.errors import DataError, require
from fairground.files import read_json
from fairground.records.record import RunRecord
from fairground.reporting.drawing import panels, write_figure
from fairground.reporting.figure import FigureInputs
from fairground.reporting.figures.learning_curves import learning_curves_of
from fairground.reporting.figures.score_bars import score_bars_of
from fairground.reporting.headings import clean, duration, shorten
from fairground.reporting.over_datasets import OverTables, over_tables_if_any
from fairground.reporting.picture_pages import Gallery, read_gallery
from fairground.reporting.rendering import render, write_page
from fairground.reporting.run_set import RunSet, SectionKey, collected, leave_out
from fairground.reporting.sections import Section, inputs_of, sections_of
from fairground.reporting.tables import UNFAIR, ResultTable

#: galleries beyond this many characters are left out, and the page says so
_GALLERY_BUDGET = 6_000_000
#: runs listed under provenance; more would make the page slow to open
MOST_LISTED = 1000

#: names of an audit's numbers as they are shown
_AUDIT_NAMES = {
    "ratio": "largest/smallest",
    "gini": "Gini",
    "of_one_image": "classes of one image",
    "shorter_side_smallest": "shorter side from",
    "shorter_side_median": "median",
    "longer_side_largest": "longer side up to",
    "distinct_sizes": "different sizes",
}


@dataclass(frozen=True, kw_only=True)
class AuditCard:
    """`counts` by name; `failures` are sentences that forbid a conclusion, `notes` the rest."""

    title: str
    counts: Mapping[str, str]
    failures: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RunGallery:
    """The gallery of one run."""

    run: str
    label: str
    seed: str
    gallery: Gallery


def build_page(
    runs: RunSet,
    *,
    out: Path,
    audits: Sequence[AuditCard] = (),
    inputs: Mapping[SectionKey, FigureInputs] | None = None,
) -> Path:
    """Write the page and return its path; `inputs` are the fitted tables of the runs, where the caller has them."""
    return write_page(page_text(runs, audits=audits, inputs=inputs), out)


def page_text(
    runs: RunSet,
    *,
    audits: Sequence[AuditCard] = (),
    inputs: Mapping[SectionKey, FigureInputs] | None = None,
    live: bool = False,
) -> str:
    """Return the page as HTML; a live one updates itself from its server."""
    require(len(runs.records) > 0, "a report needs at least one record; got none")
    with collected() as damaged:
        sections = sections_of(inputs_of(runs) if inputs is None else inputs)
        run_galleries, n_left_out = _run_galleries(sections, runs)
        over = over_sections(sections)
    return render(
        "page.html",
        title=runs.title or f"{len(runs.records)} runs",
        live=live,
        follows=clean(runs.follows),
        differs=clean(runs.differs),
        sections=sections,
        run_galleries=run_galleries,
        n_left_out=n_left_out,
        damaged=[clean(sentence) for sentence in damaged],
        records=runs.records,
        most_listed=MOST_LISTED,
        labels={name: label for section in sections for name, label in section.labels.items()},
        over=over,
        over_figures=[(figure, figure.svg("over")) for figure in (() if over is None else over.figures)],
        audits=audits,
        counts=_counts(runs.records, sections),
        versions=_versions(runs.records),
    )


def picture(records: Iterable[RunRecord], out: Path, *, names: Mapping[str, str] | None = None) -> Path:
    """Write scores and learning curves side by side into one PNG, SVG or PDF file."""
    table = ResultTable.from_records(records, names=names)
    scores, curves = score_bars_of(table), learning_curves_of(table)
    draw = panels([scores.panel(), curves.panel()], keys=curves.keys, width_ratios=(1.15, 1))
    return write_figure(draw, (13, max(4.2, scores.height)), out)


def over_sections(sections: Sequence[Section]) -> OverTables | None:
    """Compare the methods that all data sets share, by the metric that they share."""
    single = [section for section in sections if section.models != "concatenated"]
    is_fair = all(section.comparison is not None and section.comparison.is_fair for section in single)
    return over_tables_if_any([(section.dataset, section.table) for section in single]) if is_fair else None


def _run_galleries(sections: Sequence[Section], runs: RunSet) -> tuple[list[RunGallery], int]:
    """Return the gallery of each method's first run that has one, best method first, as far as the page stays light."""
    galleries = {name: folder.gallery for name, folder in runs.folders.items() if folder.gallery.is_file()}
    shown: list[RunGallery] = []
    left_out, weight = 0, 0
    for row in (row for section in sections for row in section.table.rows):
        run = next((record for record in row.method.records if record.name in galleries), None)
        if run is None:
            continue
        try:
            gallery = read_gallery(galleries[run.name])
        except DataError as error:
            leave_out(error)
            continue
        weight += gallery.weight
        if shown and weight > _GALLERY_BUDGET:
            left_out += 1
            continue
        shown.append(RunGallery(run=run.name, label=row.label, seed=str(run.spec.get("seed")), gallery=gallery))
    return shown, left_out


def _counts(records: Sequence[RunRecord], sections: Sequence[Section]) -> dict[str, str]:
    """Return how much work the page is about; concatenated models were trained as single ones."""
    rows = [row for section in sections for row in section.table.rows]
    seeds = sorted({row.n_done for row in rows})
    trained = [record for record in records if "ensemble" not in record.spec]
    n_methods = len({row.label.removeprefix(UNFAIR) for row in rows})
    return {
        "method" if n_methods == 1 else "methods": str(n_methods),
        "run" if len(trained) == 1 else "runs": str(len(trained)),
        "seed per method" if seeds == [1] else "seeds per method": " to ".join(
            str(count) for count in dict.fromkeys((seeds[0], seeds[-1]))
        ),
        "of measuring" if all(record.is_untrained for record in trained) else "of training": duration(
            sum(record.provenance.wall_seconds for record in trained)
        ),
    }


def _versions(records: Sequence[RunRecord]) -> dict[str, str]:
    """Return each package with the version, or versions, it was used in; then machine and data."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        origin = record.provenance
        versions = {
            "fairground": origin.fairground,
            **origin.packages,
            "machine": origin.hardware,
            "threads per run": str(origin.threads),
            "data fingerprint": origin.data_fingerprint,
            "split fingerprint": origin.split_fingerprint,
        }
        for key, value in versions.items():
            found.setdefault(key, {})[value] = None
    return {key: " / ".join(dict.fromkeys(shorten(value, 120) for value in values)) for key, values in found.items()}


def read_audit(path: Path) -> AuditCard:
    """Return the card of the JSON that `fairground data check --json` prints."""
    hint = f"{path} is not an audit: write one with `fairground data check --json`"
    try:
        data = read_json(path, error=DataError)
    except DataError as error:
        raise DataError(f"{hint} ({error})") from error
    require("n_images" in data, hint, DataError)
    return AuditCard(
        title=clean(path.stem),
        counts={name: shorten(text, 200) for name, text in _audit_counts(data)},
        failures=tuple(shorten(str(text), 500) for text in data.get("failures") or ()),
        notes=tuple(shorten(str(text), 500) for text in data.get("notes") or ()),
    )


def _audit_counts(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "images", f"{data['n_images']}"
    yield "classes", f"{data.get('n_classes', '?')}"
    parts = data.get("parts")
    for name, counts in parts.items() if isinstance(parts, dict) else ():
        yield clean(str(name)), " / ".join(str(count) for count in counts) + " images / classes"
    for key, word in (("class_sizes", "images per class"), ("image_sizes", "image sizes")):
        if isinstance(data.get(key), dict):
            shown = {name: f"{x:g}" if isinstance(x, int | float) else str(x) for name, x in data[key].items()}
            yield word, ", ".join(f"{_AUDIT_NAMES.get(name, name)} {value}" for name, value in shown.items())
    yield "unreadable", f"{data.get('unreadable', '?')}"
    for key, word in (("duplicates", "exact copies"), ("near_duplicates", "near copies")):
        if isinstance(data.get(key), dict):
            numbers = {name: value for name, value in data[key].items() if isinstance(value, int)}
            yield word, ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in numbers.items())
    if data.get("is_closed_set"):
        yield "split", "closed set: the test classes were trained on"
