"""Recommendation plans and the weights of the models they end in: `fairground reproduce` makes them again.

On the machine that wrote them every bit is compared, on others the digits that processors share.
`python -m tests.golden.test_recommendation_plans` writes them anew.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairground.spec import AdaptationSpec, load_run, parse_overrides, to_plain
from fairground.training.adaptation import Workbench
from tests.golden.command import printed
from tests.golden.machine import RELATIVE, read, write

STORED = Path(__file__).with_name("recommendation_plans.json")
#: stands for the file of features
FILE = "FEATURES.npz"
FEATURES = (f"data.path={FILE}", "training.batch_size=32")
PICTURES = (
    *("data=synthetic", "data.n_classes=12", "data.per_class=8", "data.size=16"),
    *("trunk.widths=[8, 12, 16]", "training.batch_size=16"),
)
RATES = ("optimiser.lr=0.001", "optimiser.head_lr=0.001")
#: protocol, words and how it is trained
PLDA = (*FEATURES, "head=plda", "head.shrinkage=0.7", "head.prior=2")
WHITENED = (*FEATURES, "head=whitened", "head.embedding_dim=8", "head.power=0.5")
PROXIES = (*FEATURES, "head=residual", "head.rank=4", "loss=proxy_nca_pp", *RATES, "optimiser.loss_lr=0.01")
NETWORK = (*PICTURES, "optimiser.average=0.9", *RATES)
METHODS: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "PLDA": ("features", PLDA, {}),
    "whitened": ("features", WHITENED, {}),
    "SupCon, from PLDA": ("features", (*PLDA, "loss=sup_con", *RATES, "seed=3"), {"trains": "head", "steps": 30}),
    "ProxyNCA++, residual": ("features", PROXIES, {"trains": "head", "steps": 30}),
    "Multi-Similarity, network with PLDA": (
        "laptop",
        (*NETWORK, "head=plda", "loss=multi_similarity"),
        {"trains": "network", "steps": 10, "published": 0.5},
    ),
    "Contrastive, from nothing": (
        "laptop",
        (*NETWORK, "head=identity", "loss=contrastive"),
        {"trains": "network", "steps": 10},
    ),
}


def write_features(folder: Path) -> Path:
    """Write features of 12 classes, 12 rows each, and return their file."""
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 12)
    features = 1.5 * draw.normal(size=(12, 16))[labels] + draw.normal(size=(144, 16))
    np.savez(folder / FILE, features=features.astype(np.float32), labels=labels)
    return folder / FILE


def placed(plan: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a stored plan with the place of its features."""
    found: dict[str, Any] = json.loads(json.dumps(plan).replace(FILE, str(folder / FILE)))
    return found


def made(plan: dict[str, Any]) -> list[list[float]]:
    """Return the embeddings of a few rows by the model that a plan ends in."""
    spec, rows = AdaptationSpec.from_plain(plan["adaptation"]), np.array(plan["rows"])
    threads = torch.get_num_threads()
    torch.set_num_threads(plan["threads"])
    bench = Workbench(spec.run)
    bench.embed(rows)
    found: list[list[float]] = bench.fit(spec, rows).embed(rows[::16]).tolist()
    torch.set_num_threads(threads)
    return found


def remade(plan: dict[str, Any], home: Path) -> tuple[int, str]:
    """Return the exit code of `fairground reproduce` and the checksum of the weights it makes."""
    folder = home / "recommendations" / "0123456789ab"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    code, found = printed("reproduce", "0123456789ab", "--home", str(home))
    return code, found["weights_sha256"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("plans")
    write_features(found)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_ends_in_the_model_it_always_ended_in(
    method: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    stored, is_same_machine = read(STORED)
    wanted = stored["plans"][method]
    plan = placed(wanted["plan"], folder)
    found, scale = np.array(made(plan)), np.abs(wanted["embeddings"]).max()
    # Training multiplies a difference in the last bit: a small part of the largest number, not of each.
    assert found == pytest.approx(np.array(wanted["embeddings"]), rel=RELATIVE, abs=10 * RELATIVE * scale)
    code, checksum = remade(plan, tmp_path)
    if is_same_machine:
        assert (code, checksum) == (0, plan["weights_sha256"])


@pytest.mark.parametrize("method", METHODS)
def test_the_same_words_give_the_same_plan(method: str) -> None:
    plan = read(STORED)[0]["plans"][method]["plan"]
    assert adaptation_of(method) == plan["adaptation"]


def adaptation_of(method: str) -> dict[str, Any]:
    """Return what a method trains, as a plan says it."""
    protocol, words, trained = METHODS[method]
    run = load_run(protocol=protocol, overrides=parse_overrides(list(words)))
    plain = {**trained, "run": to_plain(run)}
    found: dict[str, Any] = json.loads(json.dumps(to_plain(AdaptationSpec.from_plain(plain))))
    return found


def _plan(method: str, folder: Path) -> dict[str, Any]:
    said = {"adaptation": adaptation_of(method), "threads": 1, "weights_sha256": ""}
    spec = AdaptationSpec.from_plain(placed(said, folder)["adaptation"])
    plan = {**said, "rows": np.sort(Workbench(spec.run).seen).tolist()}
    plan["weights_sha256"] = remade(placed(plan, folder), folder)[1]
    return {"plan": plan, "embeddings": made(placed(plan, folder))}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRGROUND_CACHE", str(Path(scratch) / "cache"))
        write_features(Path(scratch))
        write(STORED, {"plans": {method: _plan(method, Path(scratch)) for method in METHODS}})
