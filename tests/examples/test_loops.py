"""The examples run as printed, and learn something: a notebook, and our parts in the loops of other people."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
import torch

import fairground as fg
from fairground.trunks.timm import import_torchvision

EXAMPLES = Path(__file__).parents[2] / "examples"
#: what the icons' unseen classes score in raw pixels is far above this; chance is 0.003
BETTER_THAN_CHANCE = 0.08


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def few_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "notebook"}
    for cell in json.loads((EXAMPLES / "first_comparison.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert [run.state for run in names["runs"]] == ["done"] * 4
    assert names["comparison"].is_fair
    assert (tmp_path / "report.html").is_file()


def test_the_walk_by_hand(capsys):
    scores = load("walkthrough").main(n_batches=15)
    assert capsys.readouterr().out.startswith("untrained, validation classes")
    assert scores["recall@1"] > 0.4


def test_plain_pytorch(capsys):
    scores = load("plain_pytorch").main(n_epochs=1)
    assert scores["recall@1"] > BETTER_THAN_CHANCE
    assert capsys.readouterr().out.startswith("epoch 1: loss ")


def test_lightning(capsys, monkeypatch):
    # Lightning imports torchmetrics, and that torchvision, whose compiled half may have been built for another torch.
    import_torchvision()
    passes = watched(monkeypatch, fg.samplers.BalancedSampler)
    scores = load("lightning_loop").main(max_epochs=2, max_steps=12)
    assert scores["recall@1"] > BETTER_THAN_CHANCE
    assert passes == [0]
    assert "test classes:" in capsys.readouterr().out


def test_accelerate(capsys, monkeypatch):
    passes = watched(monkeypatch, fg.samplers.GreedyCoresetSampler)
    scores = load("accelerate_loop").main(n_epochs=1)
    assert scores["recall@1"] > BETTER_THAN_CHANCE
    assert passes == [0]
    assert "epoch 1: loss " in capsys.readouterr().out


@pytest.mark.parametrize("framework", ["lightning", "accelerate"])
def test_every_epoch_of_a_framework_is_another_pass(framework):
    """Lightning never calls `set_epoch` of a batch sampler, Accelerate before every epoch: both get all epochs."""
    labels = torch.arange(96) // 8
    wanted = fg.samplers.PerClassSampler(labels=labels, batch_size=16, per_class=4, seed=3)
    epochs = [list(wanted) for _ in range(3)]
    sampler = fg.samplers.PerClassSampler(labels=labels, batch_size=16, per_class=4, seed=3)
    data = torch.utils.data.TensorDataset(torch.arange(96))
    loader = torch.utils.data.DataLoader(data, batch_sampler=sampler)
    seen: list[list[int]] = []
    if framework == "lightning":
        import_torchvision()
        import lightning

        class Watching(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(()))

            def training_step(self, batch, _):
                seen.append(batch[0].tolist())
                return self.weight * 1.0

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.0)

        quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar"), False)
        lightning.Trainer(max_epochs=3, accelerator="cpu", **quiet).fit(Watching(), loader)
    else:
        from accelerate import Accelerator

        prepared = Accelerator(cpu=True).prepare(loader)
        for _ in range(3):
            seen += [rows.tolist() for (rows,) in prepared]
    assert seen == [rows for epoch in epochs for rows in epoch]


def watched(monkeypatch, kind):
    """Return the numbers of the epochs that a sampler of this kind is asked for."""
    passes: list[int] = []
    begin = kind._begin

    def noting(self, epoch):
        passes.append(epoch)
        return begin(self, epoch)

    monkeypatch.setattr(kind, "_begin", noting)
    return passes
