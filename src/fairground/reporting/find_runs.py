"""Find what a report is about: runs of a home by name, by method, by study, or all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairground.errors import InputError, require
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.reporting.run_set import RunSet, with_ensembles_apart
from fairground.reporting.study_results import from_study
from fairground.spec.identity import canonical_json
from fairground.spec.study import StudySpec
from fairground.studies.folder import begun_hint, find_begun
from fairground.studies.run_study import JobResult
from fairground.studies.status import results_so_far


def find_runs(words: Sequence[str], home: Path) -> RunSet:
    """Return what the words name: one begun study, or runs and methods by hash; all runs but trials for no word."""
    store = Store(home)
    if len(words) == 1 and not _is_run(store, words[0]):
        return _of_study(words[0], home)
    found: dict[str, RunRecord] = {}
    for word in words:
        found |= {run.name: run for run in list(store.records(method=word)) or [store.get(word)]}
    if not words:
        found = {run.name: run for run in store.records() if not run.is_trial}
    require(len(found) > 0, f"there is no run to report in {home}; `fairground demo` makes some")
    return RunSet.in_home(with_ensembles_apart(found.values()), home)


def study_so_far(study: StudySpec, home: Path) -> list[JobResult]:
    """Return what the store holds of a study whose selection is over, joined models too, without running anything."""
    everything = [record for record in Store(home).records() if "ensemble" in record.spec]
    results = []
    for result in results_so_far(study, home=home):
        keys = {_without_fold(run.spec) for run in result.runs}
        joined = tuple(record for record in everything if _without_fold(record.spec) in keys)
        results.append(replace(result, joined=joined))
    return results


def _of_study(word: str, home: Path) -> RunSet:
    study = find_begun(home, word)
    hint = begun_hint(home, word)
    require(study is not None, f"no study or run '{word}' in {home}.{hint} `fairground list runs` lists them.")
    assert study is not None
    runs = from_study(study_so_far(study, home), home=home, title=study.question or study.name)
    is_any = len(runs.records) > 0
    require(
        is_any, f"study {study.name} has no final run yet: `fairground study status {study.name}` says how far it is"
    )
    return runs


def _is_run(store: Store, word: str) -> bool:
    if store.names(method=word):
        return True
    try:
        store.resolve(word)
    except InputError:
        return False
    return True


def _without_fold(spec: Mapping[str, object]) -> str:
    plain = {key: value for key, value in spec.items() if key != "ensemble"}
    split = plain.get("split")
    if isinstance(split, Mapping):
        plain["split"] = {key: value for key, value in split.items() if key != "fold"}
    return canonical_json(plain)
