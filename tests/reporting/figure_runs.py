"""Runs by hand for the tests of figures: one score each, and what else a figure reads."""

from dataclasses import replace

from fairground.records.record import RunRecord, Score
from fairground.reporting import FigureInputs, ResultTable, RunSet
from tests.records.factory import hashed, make_record

KEY = ("icons", "laptop")


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


def changed(record: RunRecord, **settings: object) -> RunRecord:
    """The run with settings changed, `part__setting=value`; another spec, so another name and method."""
    spec = {key: dict(part) if isinstance(part, dict) else part for key, part in record.spec.items()}
    for dotted, value in settings.items():
        part, _, inner = dotted.partition("__")
        if inner:
            spec[part][inner] = value
        else:
            spec[part] = value
    return replace(record, spec=spec, name=hashed(spec), method=hashed(spec | {"seed": 0}))
