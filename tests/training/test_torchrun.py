"""Two processes with half a batch each are one process with the whole of it."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from fairground.errors import InputError
from fairground.records.store import Store
from fairground.spec import load_run, parse_overrides
from fairground.training import convert_batch_norms, joined, shard_slice
from fairground.training.run import run
from tests.patience import PATIENCE
from tests.training.shared_steps import METHODS, twenty_steps
from tests.training.tiny import tiny_words

ROOT = Path(__file__).parents[2]


def torchrun(*command: str) -> subprocess.CompletedProcess:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)]
    given = {"cwd": ROOT, "env": os.environ | {"OMP_NUM_THREADS": "1"}, "capture_output": True, "text": True}
    return subprocess.run([*start, "-m", *command], timeout=PATIENCE, check=False, **given)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    finished = torchrun("tests.training.shared_steps", str(folder))
    assert finished.returncode == 0, finished.stderr
    return folder


@pytest.mark.parametrize("method", METHODS)
def test_twenty_steps_of_two_processes_are_those_of_one(method: str, shared: Path) -> None:
    numbers, state = twenty_steps(METHODS[method])
    assert json.loads((shared / f"{method}.json").read_text()) == pytest.approx(numbers, rel=1e-5, abs=1e-5)
    together = load_file(shared / f"{method}.safetensors")
    assert together.keys() == state.keys()
    for name, tensor in state.items():
        torch.testing.assert_close(together[name], tensor, rtol=1e-5, atol=1e-5, msg=lambda text, key=name: key + text)


def test_a_run_on_cached_stages_is_stopped_resumed_and_stored_once_by_the_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = tiny_words("loss=triplet", "miner=distance_weighted", "evaluation.analyses=['rho']")
    words += ["training.trainable=last:1", "training.views=2"]
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "shared"))
    # One epoch, then killed between two checkpoints by the leader itself.
    stopped = torchrun("tests.training.shared_stop", str(tmp_path), *words)
    assert stopped.returncode != 0
    finished = torchrun("fairground", "train", "--home", str(tmp_path), "--json", *words)
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    (name,) = Store(tmp_path).names(state="done")
    assert told["name"] == name
    assert any("trained by 2 processes" in note for note in told["notes"])
    assert len(Store(tmp_path).events(kind="test opened")) == 1
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "one"))
    wanted = json.loads(run(load_run(overrides=parse_overrides(words)), home=tmp_path / "alone").to_json())
    losses = [row["loss"] for row in wanted["epochs"][1:]]
    assert [row["loss"] for row in told["epochs"][1:]] == pytest.approx(losses, rel=1e-5)
    assert told["best_epoch"] == wanted["best_epoch"]


def test_a_batch_that_cannot_be_shared_and_one_device_for_all_are_refused() -> None:
    with (
        pytest.raises(InputError, match=r"torchrun gives every process its own device: .*got 'cuda:1'"),
        joined("cuda:1"),
    ):
        pass
    assert shard_slice(6, 1, 2) == slice(3, 6)
    with pytest.raises(InputError, match="a batch of 7 cannot be shared equally by 2 processes"):
        shard_slice(7, 0, 2)


def test_a_batch_norm_of_a_strange_kind_is_refused() -> None:
    class Stranger(torch.nn.BatchNorm2d):
        pass

    with pytest.raises(InputError, match="is a Stranger: its statistics cannot be those of all processes"):
        convert_batch_norms(torch.nn.Sequential(torch.nn.Sequential(Stranger(3))), torch.device("cpu"))


class NormAndActivation(torch.nn.BatchNorm2d):
    """As timm's BatchNormAct2d."""

    __module__ = "timm.layers.norm_act"

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.drop, self.act = torch.nn.Identity(), torch.nn.ReLU(inplace=True)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.act(self.drop(super().forward(images)))


def test_a_batch_norm_of_timm_keeps_its_activation_and_cuda_has_torchs_own() -> None:
    images = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(0))
    alone, shared = (torch.nn.Sequential(NormAndActivation(3), torch.nn.BatchNorm2d(3)) for _ in range(2))
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        convert_batch_norms(shared, torch.device("cpu"))
        for is_training in (True, False):
            alone.train(is_training)
            shared.train(is_training)
            torch.testing.assert_close(shared(images), alone(images))
    finally:
        torch.distributed.destroy_process_group()
    assert shared.state_dict().keys() == alone.state_dict().keys()
    convert_batch_norms(alone, torch.device("cuda"))
    homes = [type(norm).__module__ for norm in alone]
    assert homes == ["fairground.training.sync_batch_norm", "torch.nn.modules.batchnorm"]
