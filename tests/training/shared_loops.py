"""Eight steps in the loops of other people, for `test_distributed`: in one process, or by torchrun in two."""

import gc
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import fairground as fg

#: Lightning last: it takes the group of processes that is there
LOOPS = ("torch", "accelerate", "lightning")
N_PROCESSES = int(os.environ.get("WORLD_SIZE", "1"))


class Learner(nn.Module):
    """A network with a loss that has weights, and one over mined triplets that are drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 4))
        self.proxies = fg.distributed.GatheredLoss(fg.losses.ProxyAnchorLoss(n_classes=8, embedding_dim=4))
        self.triplets = fg.distributed.GatheredLoss(fg.losses.TripletLoss())
        self.miner = fg.distributed.GatheredMiner(fg.miners.DistanceWeightedMiner(), seed=5)

    def forward(self, rows: Tensor, labels: Tensor) -> Tensor:
        embeddings = self.network(rows)
        mined = self.triplets(embeddings, labels, self.miner(embeddings, labels))
        value: Tensor = self.proxies(embeddings, labels) + mined
        return value


def eight_steps(loop: str) -> dict[str, Tensor]:
    """Return the weights after eight steps of a loop."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        labels = torch.arange(64) // 8
        data = TensorDataset(torch.randn(64, 6), labels)
        sampler = fg.samplers.PerClassSampler(labels=labels, batch_size=16, per_class=4, seed=1)
        loader = DataLoader(data, batch_sampler=fg.distributed.ShardedSampler(sampler))
        learner = Learner()
        {"torch": _torch, "lightning": _lightning, "accelerate": _accelerate}[loop](learner, loader)
    return {name: weight.detach().clone() for name, weight in learner.state_dict().items()}


def _torch(learner: Learner, loader: Any) -> None:
    if N_PROCESSES > 1 and not dist.is_initialized():
        dist.init_process_group("gloo")
    _train(nn.parallel.DistributedDataParallel(learner) if N_PROCESSES > 1 else learner, loader, Tensor.backward)


def _accelerate(learner: Learner, loader: Any) -> None:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    _train(accelerator.prepare(learner), loader, accelerator.backward)


def _train(model: nn.Module, loader: Any, backward: Any) -> None:
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows, labels in loader:
            optimiser.zero_grad()
            backward(model(rows, labels))
            optimiser.step()


def _lightning(learner: Learner, loader: Any) -> None:
    from fairground.trunks.timm import import_torchvision

    import_torchvision()
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.learner = learner

        def training_step(self, batch: Any, _: int) -> Any:
            return self.learner(*batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar"), False)
    how: dict[str, Any] = {"strategy": "ddp", "devices": N_PROCESSES} if N_PROCESSES > 1 else {"devices": 1}
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", use_distributed_sampler=False, **how, **quiet)
    trainer.fit(Module(), loader)


if __name__ == "__main__":
    for loop in LOOPS:
        weights = eight_steps(loop)
        if os.environ["RANK"] == "0":
            save_file(weights, Path(sys.argv[1]) / loop)
    if dist.is_initialized():
        # A process must not end while the other speaks to it, nor its DistributedDataParallel outlive the group.
        dist.barrier()
        gc.collect()
        dist.destroy_process_group()
        os._exit(0)  # Gloo's threads have aborted while the interpreter was ending.
