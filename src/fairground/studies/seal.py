"""The seal on the test split of a study: what was chosen is written down before the first final spec can be had."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from itertools import product

from fairground.records import AGAIN, Store
from fairground.records.store import Event
from fairground.spec import RunSpec, SealError, StudyJob, StudySpec, canonical_json, require, study_hash
from fairground.studies import Selected

SELECTED = "settings selected"
OPENED = "test opened"


class Seal:
    """The seal on the test split of a study. Only it makes final specs."""

    def __init__(self, store: Store, study: StudySpec) -> None:
        self._store, self._study, self._name = store, study, study_hash(study)

    def selection(self) -> dict[str, Selected] | None:
        """Return what was selected in each job, or None while the test split is sealed."""
        event = self._selected()
        return None if event is None else {job: Selected(**one) for job, one in json.loads(event.detail).items()}

    def begin_again(self, why: str) -> None:
        self._store.note_event(AGAIN, self._name, why)

    def _selected(self) -> Event | None:
        events = self._store.events(run=self._name)
        begun = max((place for place, event in enumerate(events) if event.kind == AGAIN), default=0)
        return next((event for event in events[begun:] if event.kind == SELECTED), None)

    def end_selection(self, chosen: Mapping[str, Selected]) -> None:
        """Write down what was selected in every job; a second selection that differs is refused."""
        detail = canonical_json({label: asdict(selected) for label, selected in chosen.items()})
        before = self._selected()
        if before is not None:
            selected = f"was selected before, by {before.who} at {before.at}, with other settings"
            why = "after a look at the test split nothing can be selected again"
            require(before.detail == detail, f"study {self._study.name} {selected}: {why}", SealError)
            return
        self._store.note_event(SELECTED, self._name, detail)

    def final_specs(self, job: StudyJob) -> dict[tuple[int, int], RunSpec]:
        """Return the final runs of a job by seed and fold, which open the test split; refused before selection."""
        selection = self.selection()
        if selection is None:
            sealed = f"the test split of study {self._study.name} is sealed until every method's settings are selected"
            raise SealError(f"{sealed}; finish the search first (fairground study resume)")
        if job.label not in selection:
            return {}
        settings, runs = selection[job.label].settings, product(job.study.repeat_seeds, job.study.folds.used)
        return {(seed, fold): job.spec(seed=seed, fold=fold, settings=settings, test=True) for seed, fold in runs}

    def note_opening(self, what: str) -> None:
        if what not in {event.detail for event in self.openings()}:
            self._store.note_event(OPENED, self._name, what)

    def openings(self) -> list[Event]:
        """Return who opened the test split for this study, when and for what, the first time first."""
        return self._store.events(kind=OPENED, run=self._name)
