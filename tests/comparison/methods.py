"""Fabricated methods for the guard: repeats of a run whose spec is changed by dotted settings."""

from collections.abc import Mapping
from dataclasses import replace

from fairground.records.record import Provenance, RunRecord, Selection
from fairground.spec.study_spec import SearchProcedure
from tests.records.factory import changed, make_provenance, make_record

ON_TEST = {"selection": Selection(split="test", metric="map@r")}


def searched(trials: int) -> dict[str, object]:
    """The field of a run whose settings were searched."""
    return {"search": SearchProcedure(trials=trials)}


def method(
    *,
    loss: str = "triplet",
    level: float = 0.3,
    spread: float = 0.003,
    seeds: int | tuple[int, ...] = 3,
    fields: Mapping[str, object] | None = None,
    provenance: Provenance | None = None,
    is_validated: bool = True,
    **changes: object,
) -> list[RunRecord]:
    """Return the runs of one method; `trunk__name="resnet50"` changes `trunk.name` of its spec.

    `fields` are fields of its records.
    """
    runs = []
    for seed in range(seeds) if isinstance(seeds, int) else seeds:
        record = changed(make_record(loss=loss, level=level, spread=spread, seed=seed), **changes)
        given = {"provenance": provenance or make_provenance(), **(fields or {})}
        if not is_validated:
            epochs = tuple(replace(row, validation={}) for row in record.epochs)
            scores = tuple(score for score in record.scores if score.split == "test")
            given = {"selection": None, "epochs": epochs, "scores": scores, **given}
        runs.append(replace(record, **given))
    return runs
