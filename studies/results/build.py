"""Records in, pages out."""

from pathlib import Path

from studies.results.claims import (
    c01_saturation,
    c02_structure,
    c04_samplers,
    c05_factors,
    c06_selection_metric,
    c07_nmi,
    c08_concatenation,
    c09_metrics,
    c10_mixup,
    c11_untrained,
    c12_selection_on_test,
    c13_single_seeds,
    c14_tuning,
    c15_transfer,
    c16_search,
    c17_finetuning,
    c18_epochs,
    c20_splits,
    c21_variance,
    c23_since2020,
    c24_looking,
    c25_sets,
    c26_foretelling,
)
from studies.results.front_page import front_page
from studies.results.page import DATA, Page
from studies.results.records import ExportedRun, read_runs
from studies.results.select import what_matters


def pages_of(records: Path) -> list[Page]:
    """Return every page whose records are there, in the order of the claims."""
    field, tuned = _runs(records, c01_saturation.STUDIES), _runs(records, c17_finetuning.STUDIES)
    longer, halves = _runs(records, c18_epochs.STUDIES), _runs(records, c20_splits.STUDIES)
    bare, sets = _runs(records, c11_untrained.STUDIES), _runs(records, c25_sets.STUDIES)
    defaults = {name: one.scores for name, one in c25_sets.finished(sets, halves).items()}
    settings, matters = _runs(records, c14_tuning.STUDIES), what_matters(field, DATA, "recall@1")
    found = (
        c01_saturation.page(field, defaults, bare),
        c02_structure.page(field, _runs(records, c02_structure.STUDIES), matters),
        c04_samplers.page(_runs(records, c04_samplers.STUDIES), matters),
        c05_factors.page(_runs(records, c05_factors.STUDIES), matters),
        c06_selection_metric.page(field, matters),
        c07_nmi.page(_runs(records, c07_nmi.STUDIES)),
        c08_concatenation.page(_runs(records, c08_concatenation.STUDIES), matters),
        c09_metrics.page(field),
        c10_mixup.page(_runs(records, c10_mixup.STUDIES), matters),
        c11_untrained.page(bare, field),
        c12_selection_on_test.page(longer, matters),
        c13_single_seeds.page(field),
        c14_tuning.page(settings, field, defaults),
        c15_transfer.page(field),
        c16_search.page(_runs(records, c16_search.STUDIES), field),
        c17_finetuning.page(tuned, field),
        c18_epochs.page(longer, field),
        c20_splits.page(halves),
        c21_variance.page(_runs(records, c21_variance.STUDIES), halves, settings, field, sets),
        c23_since2020.page(_runs(records, c23_since2020.STUDIES)),
        c24_looking.page(_runs(records, c24_looking.STUDIES)),
        c25_sets.page(sets, halves),
        c26_foretelling.page(_runs(records, c26_foretelling.STUDIES)),
    )
    return [page for page in found if page is not None]


def build(records: Path, out: Path) -> list[Page]:
    """Write every page and the first one; return those of claims."""
    pages = pages_of(records)
    out.mkdir(parents=True, exist_ok=True)
    for page in pages:
        page.write(out)
    with_classes = {path.name.removesuffix(".classes.csv.gz") for path in records.glob("*.classes.csv.gz")}
    (out / "README.md").write_text(front_page(pages, all_runs(records), with_classes), encoding="utf-8")
    return pages


def all_runs(records: Path) -> list[ExportedRun]:
    """Return the runs of every exported study."""
    names = sorted(path.name.removesuffix(".runs.csv.gz") for path in records.glob("*.runs.csv.gz"))
    return _runs(records, names)


def _runs(records: Path, studies: tuple[str, ...] | list[str]) -> list[ExportedRun]:
    return [run for study in studies for run in read_runs(records, study)]
