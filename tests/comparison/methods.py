"""Fabricated methods for the guard: repeats of a run whose spec is changed by dotted settings."""

from collections.abc import Mapping
from dataclasses import replace

from fairground.records.record import Provenance, RunRecord, Selection
from fairground.spec.study_spec import SearchProcedure
from tests.records.factory import hashed, make_provenance, make_record

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
        record = make_record(loss=loss, level=level, spread=spread, seed=seed)
        spec = {key: dict(value) if isinstance(value, dict) else value for key, value in record.spec.items()}
        for dotted, value in changes.items():
            part, _, key = dotted.partition("__")
            spec[part] = {**(spec.get(part) or {}), key: value} if key else value
        epochs = record.epochs if is_validated else tuple(replace(row, validation={}) for row in record.epochs)
        selection = record.selection if is_validated else None
        scores = record.scores if is_validated else tuple(s for s in record.scores if s.split == "test")
        runs.append(
            replace(
                record,
                name=hashed(spec),
                method=hashed(spec | {"seed": 0}),
                spec=spec,
                epochs=epochs,
                scores=scores,
                provenance=provenance or make_provenance(),
                **{"selection": selection, **(fields or {})},
            )
        )
    return runs
