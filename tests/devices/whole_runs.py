"""`python -m tests.devices.whole_runs`: short runs on a simulated device, beside the same ones on the CPU.

Prints a JSON object: the overrides of each run that differs or fails, with the reason.
"""

import json
import os
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import torch

from fairground.audit.label_errors import features_of
from fairground.contracts import AffineHead
from fairground.errors import InputError
from fairground.records import Store
from fairground.spec import load_run
from fairground.studies.executors.executor import Executor
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.executors.slurm import SlurmExecutor
from fairground.studies.scheduler import Scheduler
from fairground.training import Workbench
from fairground.training.run import run, run_job  # noqa: F401 - by its dotted path
from tests.datasets.pictures import class_folders
from tests.devices import simulated
from tests.training.stopping import stop_after
from tests.training.test_adaptation import PHOTOGRAPHS, spec_of
from tests.training.tiny import tiny

RUNS = (
    "loss=triplet miner=distance_weighted",
    "loss=triplet miner=semihard regulariser=rho",
    "loss=margin miner=distance_weighted evaluation.normalise=false",
    "loss=margin miner=rho_distance loss.beta_kind=per_class",
    "loss=multi_similarity miner=multi_similarity",
    "loss=proxy_anchor optimiser.loss_lr=0.1",
    "loss=soft_triple regulariser=soft_triple_centres loss.reg_weight=0.0",
    "loss=arc_face optimiser.name=sgd optimiser.momentum=0.9",
    "loss=cross_batch_memory loss.size=40",
    "loss=n_pair regulariser=embedding_norm",
    "loss=histogram optimiser.name=rmsprop",
    "loss=fast_ap optimiser.name=adamw optimiser.weight_decay=0.01",
    "loss=contrastive regulariser=manifold_mixup",
    "loss=contrastive sampler=greedy_coreset sampler.pool=64",
    "loss=contrastive sampler=distance_distribution sampler.pool=64",
    "loss=contrastive training.freeze_batch_norm=stats training.gradient_chunk=5",
    "loss=contrastive training.precision=bf16",
    "loss=contrastive training.precision=fp16 optimiser.clip_norm=1.0",
    "loss=contrastive training.precision=auto",
    "loss=contrastive optimiser.average=0.9 optimiser.clip_norm=1.0",
    "loss=contrastive optimiser.schedule=cosine optimiser.frozen_trunk_epochs=1",
    "loss=contrastive head=mlp",
    "loss=contrastive head=pca",
    "loss=contrastive head=whitened",
    "loss=contrastive training.trainable=last:1 training.views=2",
    "loss=contrastive evaluation.analyses=['rho','spectrum','hubness']",
    "loss=contrastive evaluation.metrics=['map@r','nmi','eer','oscr'] evaluation.watch_test=true",
    "loss=margin miner=distance_weighted training.deterministic=true",
    "loss=fast_ap training.deterministic=true",
    "loss=histogram training.deterministic=true",
)


#: where a step may wait for the device
STEPPING = ("training/step", "training/torchrun_group", "miners/", "losses/", "regularisers/", "functional/")


class DroppingHead(AffineHead):
    """Drops half of the features, from the device's own random stream."""

    def __init__(self, *, n_features: int, embedding_dim: int = 8) -> None:
        super().__init__(n_features, embedding_dim)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward(torch.nn.functional.dropout(features, 0.5, self.training))


def compare(words: str, folder: Path) -> None:
    spec = tiny(*words.split(), "training.epochs=1", "training.batches_per_epoch=2")
    simulated.READS.clear()
    found = run(spec, home=folder / "sim", device="sim:1")
    waits = sum(n for line, n in simulated.READS.items() if line.startswith(STEPPING) and "memory" not in line)
    assert waits <= (3 if "rho" in words or "=multi" in words else 2) * found.epochs[-1].step, simulated.READS
    wanted = run(spec, home=folder / "cpu", device="cpu")
    assert (found.state, found.provenance.device) == ("done", "sim"), found.failure
    is_deterministic = found.provenance.device_details.get("algorithms") == "deterministic"
    assert is_deterministic == ("deterministic" in words)
    assert not torch.are_deterministic_algorithms_enabled()
    loss, other = found.epochs[-1].loss, wanted.epochs[-1].loss
    assert loss is not None
    assert other is not None
    # bfloat16 is a rule of the processor here: the device multiplies as it always does.
    assert abs(loss - other) < (3e-2 if "precision" in words else 2e-3) * max(1, abs(other)), (loss, other)


def resume(folder: Path) -> None:
    """Stop a run that drops features, resume it, and look at the caller's random streams."""
    head = f"head={__name__ if __name__ != '__main__' else 'tests.devices.whole_runs'}:DroppingHead"
    spec = tiny("loss=contrastive", head, "training.epochs=1", "training.batches_per_epoch=4")
    before = [stream.get_state() for stream in simulated.Module.streams]
    whole = run(spec, home=folder / "whole", device="sim:1")
    with suppress(KeyboardInterrupt):
        run(spec, home=folder / "stopped", device="sim:1", should_stop=stop_after(2))
    simulated.Module.streams[1].manual_seed(7)
    before[1] = simulated.Module.streams[1].get_state()
    assert run(spec, home=folder / "stopped", device="sim:1").digits() == whole.digits()
    for stream, state in zip(simulated.Module.streams, before, strict=True):
        assert torch.equal(stream.get_state(), state), "the caller's random stream has moved"


class SummingHead(AffineHead):
    """Adds along its features, which a device has no deterministic way to do."""

    def __init__(self, *, n_features: int, embedding_dim: int = 8) -> None:
        super().__init__(n_features, embedding_dim)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward(features.cumsum(1))


def refuse(folder: Path) -> None:
    """Ask for determinism where a part of the model has none; torch is then as it was."""
    spec = tiny("loss=contrastive", "head=tests.devices.whole_runs:SummingHead", "training.deterministic=true")
    assert run(spec, home=folder, device="cpu").state == "done"
    with pytest.raises(InputError, match=r"deterministic=true is not possible here: cumsum does not have"):
        run(spec, home=folder / "sim", device="sim")
    flags = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.deterministic
    assert (*flags, "CUBLAS_WORKSPACE_CONFIG" in os.environ) == (False, False, False)


def adapt(folder: Path) -> None:
    """Train a network and fit a head as `recommend` does, and embed as `data check --labels` does, there and here."""
    root = class_folders(folder / "photos", [f"class {number}" for number in range(8)], per_class=4)
    base = {"data.root": str(root), "split": "random_halves", **PHOTOGRAPHS}
    adapted, audited = [], []
    for place in ("sim:1", "cpu"):
        os.environ["FAIRGROUND_CACHE"] = str(folder / place)
        spec = load_run(protocol="photographs", overrides=base)
        bench = Workbench(spec, device=torch.device(place))
        bench.embed(bench.seen)
        adapted.append(bench.fit(spec_of(base, head="plda", steps=3), bench.seen).embed(bench.seen[:9]))
        audited.append(features_of(bench.table.images, bench.seen[:4], device=place))
    assert adapted[0].device == torch.device("sim:1")
    torch.testing.assert_close(adapted[0].cpu(), adapted[1], rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(*map(torch.from_numpy, audited), rtol=1e-2, atol=1e-2)


def execute(folder: Path) -> None:
    """Give a run to every executor that one machine has; each worker finds the device that was asked for."""
    spec, records = tiny("training.epochs=1", "training.batches_per_epoch=2"), []
    kinds = {"inline": Executor, "processes": ProcessExecutor, "slurm": partial(SlurmExecutor, cluster="local")}
    for name, kind in kinds.items():
        with kind("tests.devices.whole_runs:run_job", device="sim:1") as executor:
            records += Scheduler(store=Store(folder / name), executor=executor).run_specs([spec])
    assert {record.provenance.device for record in records} == {"sim"}, [record.failure for record in records]
    assert len({record.digits() for record in records}) == 1


def failures() -> dict[str, str]:
    found = {"": str(len(RUNS))}
    # Metal's rules are CUDA's and one more. Only what measures asks whether there is float64, by which torch also
    # scales the gradients of float16.
    both = ("fp16", "evaluation.", "head=")
    runs = {"metal": [words for words in RUNS if "fp16" not in words]}
    runs["cuda"] = [words for words in RUNS if any(word in words for word in both)]
    others = {"metal": (resume, refuse, adapt), "cuda": (adapt, execute)}
    for rules, kind in runs.items():
        simulated.follow(rules)
        cases = [(words, partial(compare, words)) for words in kind]
        for name, case in (*cases, *((case.__name__, case) for case in others[rules])):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    case(Path(folder))
                except Exception as error:
                    found[f"{rules} {name}"] = f"{type(error).__name__}: {error}"
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FAIRGROUND_CACHE"] = cache
        print(json.dumps(failures(), indent=1))
