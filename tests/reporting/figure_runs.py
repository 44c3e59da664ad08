"""Runs by hand for the tests of figures: one score each, and what else a figure reads."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fairground.records import RunFolder, RunRecord, Score, write_arrays
from fairground.reporting import FigureInputs, ResultTable, RunSet
from tests.records.factory import changed, hashed, make_record

KEY = ("icons", "laptop")


def toys(home: Path) -> tuple[list[RunRecord], dict[str, RunFolder]]:
    """Two toy spaces with the same recall@1 and another map@r, and the folders of their points."""
    records, folders = [], {}
    for space, score in (("bands", 0.7), ("stripes", 0.3)):
        record = changed(run("contrastive", 1.0, **{"map@r": score}), data={"name": "toy_spaces", "space": space})
        records.append(record)
        folders[record.name] = RunFolder(home, record.name).make()
        points = np.random.default_rng(0).random((20, 2))
        write_arrays(folders[record.name].embeddings, {"embeddings": points, "labels": np.repeat([4, 5], 10)})
    return records, folders


def inputs(records: list[RunRecord], *, folders=None, trials=None) -> FigureInputs:
    runs = RunSet(records=tuple(records), folders=folders or {}, trials={KEY: trials or {}})
    return FigureInputs(key=KEY, table=ResultTable.from_records(records), runs=runs)


def run(loss: str, value: float, *, miner: str = "distance_weighted", p: float | None = None, seed: int = 0, **scores):
    """One run whose recall@1 is `value`; other test scores by name, train scores with a `train_` before it."""
    made = make_record(loss=loss, miner=miner, seed=seed)
    spec = {**made.spec, "miner": {"name": miner, **({} if p is None else {"p_switch": p})}}
    spec["evaluation"] = {"metrics": ["recall@1"], "select_by": "recall@1"}
    found = [Score(metric="recall@1", split="test", value=value)]
    for name, number in scores.items():
        split = "train" if name.startswith("train_") else "test"
        found.append(Score(metric=name.removeprefix("train_"), split=split, value=number))
    key = hashed(spec | {"seed": 0})
    return replace(made, name=hashed(spec), method=key, spec=spec, scores=tuple(found))
