"""Find the runs of a report: by name, by method, by study, or all runs of a run directory."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fairground.errors import InputError, require
from fairground.papers.reproduction import without_fold
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.reporting.run_set import RunSet, with_ensembles_apart
from fairground.reporting.study_results import from_study
from fairground.spec.identity import canonical_json
from fairground.studies.folder import begun_hint, find_begun
from fairground.studies.run_study import results_so_far


def find_runs(names: Sequence[str], home: Path) -> RunSet:
    """Return the runs of one study, or runs and methods by hash; without names, all runs except trials."""
    store = Store(home)
    if len(names) == 1 and not _is_run(store, names[0]):
        return _of_study(names[0], home)
    found: dict[str, RunRecord] = {}
    for name in names:
        found |= {run.name: run for run in list(store.records(method=name)) or [store.get(name)]}
    if not names:
        found = {run.name: run for run in store.records() if not run.is_trial}
    require(len(found) > 0, f"there is no run to report in {home}; `fairground demo` makes some")
    return RunSet.in_home(with_ensembles_apart(found.values()), home)


def _of_study(name: str, home: Path) -> RunSet:
    """Return the finished runs of a study whose selection is over, with its joined models."""
    study = find_begun(home, name)
    hint = begun_hint(home, name)
    require(study is not None, f"no study or run '{name}' in {home}.{hint} `fairground list runs` lists them.")
    assert study is not None
    ensembles = [record for record in Store(home).records() if "ensemble" in record.spec]
    results = []
    for result in results_so_far(study, home=home):
        keys = {_repeat(run) for run in result.runs}
        results.append(replace(result, joined=tuple(one for one in ensembles if _repeat(one) in keys)))
    runs = from_study(results, home=home, title=study.question or study.name)
    hint = f"`fairground study status {study.name}` shows its progress"
    require(len(runs.records) > 0, f"study {study.name} has no final run yet: {hint}")
    return runs


def _is_run(store: Store, name: str) -> bool:
    if store.names(method=name):
        return True
    try:
        store.resolve(name)
    except InputError:
        return False
    return True


def _repeat(record: RunRecord) -> str:
    return canonical_json({**without_fold(record.spec), "ensemble": None})
