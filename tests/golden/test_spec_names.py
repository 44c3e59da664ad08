"""The names of all runs that the package's protocols, presets and studies ask for: a name that moves orphans a run.

`python -m tests.golden.test_spec_names` writes them anew.
"""

import hashlib
import json
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from fairground.spec import UNSAID, load_run, load_study, name_of, protocol_names, study_names, to_plain
from fairground.spec.study_spec import StudyJob, jobs_of, study_hash

STORED = Path(__file__).with_name("spec_names.json")
ROOT = Path(__file__).parents[2]


def protocols() -> dict[str, str]:
    return {name: name_of(load_run(protocol=name, unsaid=UNSAID)) for name in protocol_names()}


def presets() -> dict[str, str]:
    text = resources.files("fairground").joinpath("papers", "protocols", "presets.toml").read_text(encoding="utf-8")
    words = [f"{loss}@{preset}" for loss, said in tomllib.loads(text).items() for preset in said]
    return {word: name_of(load_run(overrides={"loss": word})) for word in words}


def names_of(job: StudyJob) -> list[str]:
    """Return the names of a cell's runs: the search's, then the final ones', the first and the last fold and seed."""
    study = job.study
    folds = sorted({study.folds.used[0], study.folds.used[-1]})
    seeds = study.repeat_seeds
    found = []
    if study.search.trials:
        runs = [job.spec(seed=study.seed, fold=fold, test=False, unsaid=UNSAID) for fold in folds]
        found += [name_of(run) for run in runs]
        procedure = job.search_procedure()
        assert procedure is not None
        found.append(json.dumps([to_plain(procedure), job.defaults()], sort_keys=True))
    for seed in sorted({*seeds[:1], *seeds[-1:]}):
        found += [name_of(job.spec(seed=seed, fold=fold, test=True, unsaid=UNSAID)) for fold in folds]
    return found


def studies() -> dict[str, dict[str, object]]:
    files = {path.name: str(path) for path in sorted((ROOT / "studies").glob("*.toml"))}
    found: dict[str, dict[str, object]] = {}
    for label, where in {**{name: name for name in study_names()}, **files}.items():
        study = load_study(where)
        cells = {job.label: names_of(job) for job in jobs_of(study)}
        names = [name for cell in cells.values() for name in cell]
        found[label] = {
            "hash": study_hash(study),
            "cells": len(cells),
            "names": len(names),
            "first": names[0] if names else None,
            "digest": hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16],
        }
    return found


@pytest.mark.parametrize("made", [protocols, presets, studies], ids=lambda made: made.__name__)
def test_every_run_keeps_its_name(made) -> None:  # type: ignore[no-untyped-def]
    assert made() == json.loads(STORED.read_text(encoding="utf-8"))[made.__name__]


if __name__ == "__main__":
    found = {made.__name__: made() for made in (protocols, presets, studies)}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
