"""Find what a report is about: runs of a home by name, by method, by study, or all of them."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from fairground.errors import InputError, require
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.report.gathered import Gathered, folders_of, joined_apart
from fairground.report.panels import Sources
from fairground.report.study_results import from_study
from fairground.spec.cells import cells_of
from fairground.spec.identity import canonical_json, name_of
from fairground.spec.study import StudySpec
from fairground.study.book import FILE_NAME
from fairground.study.folder import begun_hint, find_begun, folder_of
from fairground.study.select import Seal
from fairground.study.trial import Trial
from fairground.study.whole import CellResult, open_book


def gather(words: Sequence[str], home: Path) -> Gathered:
    """Return what the words name: one begun study, or runs and methods by hash; all finished runs for no word."""
    store = Store(home)
    if len(words) == 1 and not _is_run(store, words[0]):
        study = find_begun(home, words[0])
        hint = begun_hint(home, words[0])
        require(study is not None, f"no study or run '{words[0]}' in {home}.{hint} `fairground list runs` lists them.")
        assert study is not None
        gathered = from_study(study_so_far(study, home), home=home, title=study.question or study.name)
        is_any = len(gathered.records) > 0
        require(
            is_any,
            f"study {study.name} has no final run yet: `fairground study status {study.name}` says how far it is",
        )
        return gathered
    found: dict[str, RunRecord] = {}
    for word in words:
        found |= {run.name: run for run in list(store.records(method=word)) or [store.get(word)]}
    if not words:
        found = {run.name: run for run in store.records() if not _is_trial(run)}
    require(len(found) > 0, f"there is no run to report in {home}; `fairground demo` makes some")
    records = joined_apart(found.values())
    return Gathered(records=tuple(records), sources=Sources(folders=folders_of(records, home)))


def study_so_far(study: StudySpec, home: Path) -> list[CellResult]:
    """Return what the store holds of a study, finished or not, without conducting anything."""
    store, seal = Store(home), Seal(Store(home), study)
    selection = seal.selection() or {}
    stored = {record.name: record for record in store.records()}
    trials = _trials(study, home)
    results = []
    for cell in cells_of(study):
        repeats: dict[int, list[str]] = {}
        for (repeat, _), spec in seal.final_specs(cell).items() if selection else ():
            repeats.setdefault(repeat, []).append(name_of(spec))
        # A repeat that still lacks a fold is not told from a whole one once its folds are averaged.
        whole = [names for names in repeats.values() if all(name in stored for name in names)]
        runs = tuple(stored[name] for names in whole for name in names)
        keys = {_without_fold(run.spec) for run in runs}
        joined = tuple(r for r in stored.values() if "ensemble" in r.spec and _without_fold(r.spec) in keys)
        results.append(
            CellResult(
                cell=cell,
                trials=tuple(trials.get(cell.label, ())),
                selected=selection.get(cell.label),
                runs=runs,
                joined=joined,
            )
        )
    return results


def _trials(study: StudySpec, home: Path) -> Mapping[str, Sequence[Trial]]:
    if not study.search.trials or not (folder_of(study, home).path / FILE_NAME).is_file():
        return {}
    with closing(open_book(study, home, None)) as book:
        return {cell.label: book.trials(cell.label) for cell in cells_of(study)}


def _is_run(store: Store, word: str) -> bool:
    if store.names(method=word):
        return True
    try:
        store.resolve(word)
    except InputError:
        return False
    return True


def _is_trial(record: RunRecord) -> bool:
    """Tell whether a run belongs to a search: its test split stays sealed for good."""
    evaluation = record.spec.get("evaluation")
    return isinstance(evaluation, Mapping) and evaluation.get("test") is False


def _without_fold(spec: Mapping[str, object]) -> str:
    plain = {key: value for key, value in spec.items() if key != "ensemble"}
    split = plain.get("split")
    if isinstance(split, Mapping):
        plain["split"] = {key: value for key, value in split.items() if key != "fold"}
    return canonical_json(plain)
