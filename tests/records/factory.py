"""Fabricated records: what a run would leave behind, without running anything."""

import hashlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairground.records.record import EpochRow, Provenance, RunRecord, Score, Selection, State

METRICS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")


def hashed(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


def make_spec(
    *,
    loss: str = "triplet",
    settings: Mapping[str, object] | None = None,
    miner: str | None = "distance_weighted",
    seed: int = 0,
    data: str = "icons",
    protocol: str = "laptop",
) -> dict:
    return {
        "protocol": protocol,
        "data": {"name": data},
        "split": {"name": "half_classes", "validation": 0.2},
        "transform": {"name": "small_images", "shift": 2},
        "trunk": {"name": "small_conv", "width": 32},
        "head": {"name": "linear", "embedding_dim": 128},
        "loss": {"name": loss, **({"margin": 0.1} if settings is None else settings)},
        "miner": None if miner is None else {"name": miner},
        "regulariser": None,
        "sampler": {"name": "per_class", "per_class": 4},
        "optimiser": {"name": "adam", "lr": 0.001, "weight_decay": 0.0001},
        "training": {"batch_size": 128, "epochs": 8},
        "evaluation": {"metrics": list(METRICS), "select_by": "map@r"},
        "seed": seed,
    }


def make_provenance(**changes: object) -> Provenance:
    values = {
        "fairground": "0.1.0",
        "packages": {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6"},
        "hardware": "Linux x86_64, a processor, 2 cores, 23 GiB",
        "threads": 1,
        "data_fingerprint": "d" * 12,
        "split_fingerprint": "5" * 12,
        "started": "2026-11-15T12:00:00+00:00",
        "wall_seconds": 31.5,
        "peak_memory_bytes": 400_000_000,
    }
    return Provenance(**(values | changes))


def make_record(
    *,
    loss: str = "triplet",
    settings: Mapping[str, object] | None = None,
    miner: str | None = "distance_weighted",
    seed: int = 0,
    data: str = "icons",
    protocol: str = "laptop",
    state: State = "done",
    level: float = 0.3,
    spread: float = 0.01,
    epochs: int = 8,
    notes: Sequence[str] = (),
    metrics: Sequence[str] = METRICS,
    provenance: Provenance | None = None,
    **fields: object,
) -> RunRecord:
    """A run whose test MAP@R is near `level`; recalls and R-precision lie above it as they do in life.

    `fields` are further fields of the record; it was selected on validation unless they say otherwise.
    """
    spec = make_spec(loss=loss, settings=settings, miner=miner, seed=seed, data=data, protocol=protocol)
    noise = random.Random(f"{loss}{miner}{settings}{seed}")
    final = level + noise.gauss(0, spread)

    def scores(share: float) -> dict[str, float]:
        at = final * share
        lifted = {name: min(0.99, at ** (0.55 - 0.1 * i)) for i, name in enumerate(METRICS[:4])}
        return {k: v for k, v in {**lifted, "r_precision": at**0.8, "map@r": at}.items() if k in metrics}

    rows = tuple(
        EpochRow(
            epoch=epoch,
            step=epoch * 40,
            loss=None if epoch == 0 else 0.2 * math.exp(-epoch / 4) + 0.05,
            validation=scores(0.35 + 0.65 * (1 - math.exp(-epoch / 2.5)) + noise.gauss(0, 0.01)),
            seconds=4.0,
            images_per_second=1500.0,
        )
        for epoch in range(epochs + 1)
    )
    found = [] if state != "done" else [Score(metric=k, split="test", value=v) for k, v in scores(1.0).items()]
    if state == "done":
        found += [Score(metric=k, split="validation", value=v) for k, v in rows[-1].validation.items()]
    return RunRecord(
        name=hashed(spec),
        method=hashed(spec | {"seed": 0}),
        spec=spec,
        state=state,
        epochs=rows,
        best_epoch=epochs if state == "done" else None,
        scores=tuple(found),
        notes=tuple(notes),
        failure=None if state == "done" else f"the run {state} at step 17",
        provenance=provenance or make_provenance(),
        **{"selection": Selection(split="validation", metric="map@r"), **fields},
    )


def changed(record: RunRecord, **settings: object) -> RunRecord:
    """The run with settings changed, `part__setting=value`; another spec, so another name and method."""
    spec = dict(record.spec)
    for dotted, value in settings.items():
        part, _, inner = dotted.partition("__")
        spec[part] = {**(spec.get(part) or {}), inner: value} if inner else value
    return replace(record, spec=spec, name=hashed(spec), method=hashed(spec | {"seed": 0}))
