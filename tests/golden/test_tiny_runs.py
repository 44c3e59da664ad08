"""One tiny run of every loss, miner, sampler, head and regulariser: its losses and scores stay as they are.

On machines that have written their digests every bit is compared, on others the digits that processors share. The same
run, stopped within its second epoch and resumed, ends bit-identically everywhere.
`python -m tests.golden.test_tiny_runs [NAME...]` writes them, or those named, and adds this machine's digests.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fairground as fg
from fairground.records import RunFolder, RunRecord, stored_spec
from fairground.spec.catalogue import find, list_room
from fairground.training.device import torch_threads
from fairground.training.run import run as run_spec
from tests.golden.machine import RELATIVE, SCORE, digest, machine_key
from tests.training.stopping import stop_after

STORED = Path(__file__).with_name("tiny_runs.json")
#: a processor that rounds otherwise may draw another tuple
MINED_RELATIVE = 5e-3
TINY: dict[str, Any] = {
    "data": "synthetic",
    "data.n_classes": 16,
    "data.per_class": 12,
    "data.size": 16,
    "trunk.widths": [8, 16],
    "head.embedding_dim": 16,
    "training.batch_size": 16,
    "training.epochs": 2,
    "training.batches_per_epoch": 3,
    "evaluation.metrics": ["recall@1", "map@r"],
}
MINED = {"loss": "triplet", "miner": "distance_weighted"}
SAMPLERS: dict[str, dict[str, Any]] = {
    "d2_coreset": {"sampler.pool": 64},
    "distance_distribution": {"sampler.pool": 64, "sampler.mine": "epoch"},
    "frechet": {"sampler.pool": 64},
    "greedy_coreset": {"sampler.pool": 64, "sampler.momentum": 0.5},
    "hierarchical": {"data.super_classes": 2},
    "m_per_class": {"sampler.straddle": True, "sampler.list_length": 64},
}
BRANCHES: dict[str, Any] = {"head": "self_distilled", "head.branches": [24, 32]}
LOSSES: dict[str, dict[str, Any]] = {"hierarchical_ap": {"data.super_classes": 2}, "self_distillation": BRANCHES}
HEADS: dict[str, dict[str, Any]] = {
    "residual": {"head.rank": 8},
    "self_distilled": {**BRANCHES, "loss": "self_distillation", "loss.feature_weight": 5.0, "loss.feature_start": 2},
}
REGULARISED: dict[str, dict[str, Any]] = {"rho": MINED, "soft_triple_centres": {"loss": "soft_triple"}}
#: heads whose dimension is that of the features
AS_WIDE = ("identity", "plda", "residual")
OTHERS: dict[str, dict[str, Any]] = {
    "sgd, cosine": {"optimiser.name": "sgd", "optimiser.momentum": 0.9, "optimiser.schedule": "cosine"},
    "rmsprop, steps": {"optimiser.name": "rmsprop", "optimiser.schedule": "step", "optimiser.step_epochs": 1},
    "adamw, warm-up, clipped": {
        "optimiser.name": "adamw",
        "optimiser.weight_decay": 0.01,
        "optimiser.warmup_epochs": 1.0,
        "optimiser.clip_norm": 1.0,
    },
    "averaged": {"optimiser.average": 0.5},
    "frozen batch norm": {"training.freeze_batch_norm": "stats_and_affine"},
    "frozen trunk": {"optimiser.frozen_trunk_epochs": 1},
    "head alone": {"training.trainable": "head"},
    "last stage": {"training.trainable": "last:1", "training.views": 2},
    "memory with a miner": {"loss": "cross_batch_memory", "loss.loss": "triplet", "loss.miner": "semihard"},
    "pairs mined": {"loss": "contrastive", "miner": "multi_similarity"},
}


def cases() -> dict[str, dict[str, Any]]:
    """Return what each run says besides the tiny words."""
    found: dict[str, dict[str, Any]] = {}
    for name in list_room("losses"):
        found[f"loss {name}"] = {"loss": name, **LOSSES.get(name, {})}
        if find("losses", name).accepts:
            found[f"loss {name}, mined"] = {"loss": name, "miner": "distance_weighted"}
    for name in list_room("miners"):
        is_triplets = find("miners", name).yields.__name__ == "Triplets"
        found[f"miner {name}"] = {"loss": "triplet" if is_triplets else "multi_similarity", "miner": name}
    for name in list_room("samplers"):
        found[f"sampler {name}"] = {"sampler": name, **SAMPLERS.get(name, {})}
    for name in list_room("heads"):
        found[f"head {name}"] = {"head": name, **HEADS.get(name, {})}
    for name in list_room("regularisers"):
        found[f"regulariser {name}"] = {"regulariser": name, **REGULARISED.get(name, {})}
    return {**found, **OTHERS}


def result_of(said: dict[str, Any], folder: Path, *, is_resumed: bool = False) -> dict[str, Any]:
    """Return the losses and a validation score of a run, and the digest of every digit it has; resume it, if asked."""
    words = {**TINY, **said}
    if words.get("head") in AS_WIDE:
        del words["head.embedding_dim"]
    if words.get("sampler") == "fixed_tuples":
        pairs = folder / "pairs.csv"
        pairs.write_text("".join(f"{row},{row + 1}\n" for row in range(40)), encoding="utf-8")
        words["sampler.file"] = str(pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRGROUND_CACHE", str(folder / "cache"))
        run = fg.train(home=folder / "home", threads=1, quiet=True, **words)
        assert run.state == "done", run.record.failure
        assert not is_resumed or stopped_and_resumed(run.record, folder).digits() == run.record.digits()
    losses = [row.loss for row in run.history]
    digits = [losses, [row.validation for row in run.history], run.validation_scores, run.scores]
    return {"losses": losses, "map@r": run.validation_scores["map@r"], "digest": digest(digits)}


def stopped_and_resumed(record: RunRecord, folder: Path) -> RunRecord:
    spec = stored_spec(RunFolder(folder / "home", record.name))
    with torch_threads(1):
        # Cases may share a spec: each has a home of its own.
        home = Path(tempfile.mkdtemp(dir=folder))
        with pytest.raises(KeyboardInterrupt):
            run_spec(spec, home=home, should_stop=stop_after(4))
        return run_spec(spec, home=home)


def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def test_every_component_has_a_run() -> None:
    assert list(cases()) == list(stored()["runs"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiny")


@pytest.mark.parametrize("case", cases())
def test_a_tiny_run_ends_as_it_always_did_also_when_it_is_stopped_and_resumed(case: str, folder: Path) -> None:
    found, wanted = result_of(cases()[case], folder, is_resumed=True), stored()["runs"][case]
    if digest_here := stored()["digests"].get(machine_key(), {}).get(case):
        assert found["digest"] == digest_here
        return
    assert found["losses"][0] is None
    relative = MINED_RELATIVE if "miner" in cases()[case] else RELATIVE
    assert found["losses"][1:] == pytest.approx(wanted["losses"][1:], rel=relative, abs=1e-6)
    assert found["map@r"] == pytest.approx(wanted["map@r"], abs=SCORE)


def renew(names: Sequence[str]) -> None:
    """Write the named runs, or all, and this machine's digests; others keep those of runs that are unchanged here.

    A name is that of a part, `my_idea`, or of a run, `loss my_idea, mined`.
    """
    known, before = stored()["digests"], stored()["runs"]
    parts = {case: case.partition(",")[0].partition(" ")[2] for case in cases()}
    unknown = {*names} - {*parts, *parts.values()}
    assert not unknown, f"no tiny run is called {', '.join(unknown)}"
    here, runs = known.pop(machine_key(), {}), {}
    with tempfile.TemporaryDirectory() as scratch:
        for case, said in cases().items():
            if names and not {case, parts[case]} & {*names}:
                runs[case] = before[case]
                continue
            found = runs[case] = result_of(said, Path(scratch))
            new = found.pop("digest")
            if here.get(case, new) != new:
                known = {machine: {**of, case: None} for machine, of in known.items()}
            here[case] = new
    digests = {machine: {case: of[case] for case in runs if of.get(case)} for machine, of in known.items()}
    digests[machine_key()] = {case: here[case] for case in runs if case in here}
    STORED.write_text(json.dumps({"runs": runs, "digests": digests}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    renew(sys.argv[1:])
