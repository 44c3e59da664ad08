"""Jobs for the studies' tests: they score by arithmetic instead of training, quickly and without torch."""

import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path

from fairground.records import Clock, EpochRow, RunRecord, Score
from fairground.spec.run_and_method_names import canonical_json, method_of, name_of, to_plain


def score_of(spec):
    settings = spec.loss.settings
    margin = float(settings.get("margin", settings.get("positive_margin", 0.0)))
    fold = float(spec.split.settings.get("fold", 0))
    noise = int(hashlib.sha256(name_of(spec).encode()).hexdigest()[:6], 16) / 2**24 / 100
    value = 0.6 - 0.1 * (margin - 0.5) ** 2 + 0.01 * fold + noise
    found = {"validation": value}
    return found | {"test": value - 0.05} if spec.evaluation.test else found


def quadratic(argument, tell):
    """Score a run by how near its margin is to the best; NaN-like regions diverge or fail."""
    spec = argument["spec"]
    margin = float(spec.loss.settings.get("margin", spec.loss.settings.get("positive_margin", 0.0)))
    _mark(argument, spec)
    time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
    if 1.5 < margin < 1.7:
        raise ValueError("a bug in this corner")
    state = "diverged" if margin >= 1.7 else "done"
    values = {} if state == "diverged" else score_of(spec)
    scores = [Score(metric="map@r", split=split, value=value) for split, value in values.items()]
    record = RunRecord(
        name=name_of(spec),
        method=method_of(spec),
        spec=to_plain(spec),
        state=state,
        epochs=(EpochRow(epoch=1, step=1, loss=1.0, validation={"map@r": values.get("validation", 0.0)}),),
        best_epoch=1,
        scores=tuple(scores),
        notes=(),
        failure=None if state == "done" else "the loss is not a number",
        provenance=Clock().finish(data_fingerprint="d", split_fingerprint="s", threads=1),
    )
    tell({"kind": "batch", "run": record.name, "epoch": 1, "of": 1, "batch": 1, "batches": 1, "loss": 1.0})
    return record


#: somebody's own metric, of which less is better
OWN_METRIC = "my_lab.metrics:Misses"


def mirrored(argument, tell):
    """Score as `quadratic` does, by a metric of which less is better."""
    result = quadratic(argument, tell)
    turned = [Score(metric=OWN_METRIC, split=s.split, value=1 - s.value, higher_is_better=False) for s in result.scores]
    return replace(result, scores=tuple(turned))


def reranked(argument, tell):
    """Score as `quadratic` does, with lists re-ranked too: the worse they were, the better they get."""
    result = quadratic(argument, tell)
    more = [Score(metric="map@r+k_reciprocal", split=s.split, value=1 - s.value) for s in result.scores]
    return replace(result, scores=(*result.scores, *more))


def full_disk(argument, tell):
    """Fail as a run does whose disk is full."""
    from fairground.errors import StoreError

    raise StoreError("cannot write runs: the disk is full")


def join(argument, tell):
    """Pretend to join models: a little better than their number."""
    return {"scores": {"map@r": 0.5 + len(canonical_json({"runs": argument["runs"]})) % 7 / 1000}, "embedding_dim": 8}


def _mark(argument, spec):
    """Leave a line for every run begun, so that a test can count them."""
    path = Path(argument["home"]) / "begun.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"{name_of(spec)} {spec.seed} {'test' if spec.evaluation.test else 'sealed'}\n")
