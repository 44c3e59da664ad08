"""Twenty steps of several methods, for `test_distributed`: by torchrun, whose leader writes what came out."""

import json
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file

from fairground.training import ALONE, Checkpoints, ProcessGroup, Training, joined
from fairground.training.assemble import assemble
from tests.training.tiny import tiny

METHODS = {
    "all pairs": ("loss=contrastive",),
    "a drawing miner": ("loss=triplet", "miner=distance_weighted"),
    # Some with SGD: Adam divides by the size of the gradient, and where this is near nothing the last digit decides.
    # A small rate for proxies, whose gradients are large: at 1e-3 the order of one sum grows a hundredfold.
    "proxies": ("loss=proxy_anchor", "optimiser.name=sgd", "optimiser.lr=1e-4", "optimiser.loss_lr=0.01"),
    "a memory": ("loss=cross_batch_memory", "loss.size=40"),
    "a sampler that looks": ("loss=multi_similarity", "sampler=greedy_coreset", "sampler.pool=64"),
    "rho and margins": ("loss=margin", "miner=distance_weighted", "regulariser=rho", "optimiser.name=sgd"),
    "a norm and decay": ("loss=nt_xent", "regulariser=embedding_norm", "optimiser.weight_decay=1e-4"),
    "mixed inside": ("loss=contrastive", "regulariser=manifold_mixup", "optimiser.name=sgd"),
    "in chunks": ("loss=contrastive", "training.freeze_batch_norm=stats", "training.gradient_chunk=3"),
}


def twenty_steps(words: tuple[str, ...], group: ProcessGroup = ALONE) -> tuple[list[float], dict[str, torch.Tensor]]:
    losses: list[float] = []
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        parts = assemble(tiny(*words)).shared_by(group)
        training = Training(parts=parts, checkpoints=Checkpoints(Path(folder)))
        training.begin()
        training.parts.model.train()
        for _ in range(20):
            before = training.progress.loss_sum
            training.batch()
            losses.append(training.progress.loss_sum - before)
        scores = training._validate()
    state = {f"model/{name}": value.clone() for name, value in parts.model.state_dict().items()}
    state |= {f"loss/{name}": value.clone() for name, value in parts.stepper.loss.state_dict().items()}
    return [*losses, *scores.values()], {name: value.contiguous() for name, value in state.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    with joined() as processes:
        for name, words in METHODS.items():
            numbers, state = twenty_steps(words, processes)
            if processes.is_leader:
                (Path(sys.argv[1]) / f"{name}.json").write_text(json.dumps(numbers))
                save_file(state, Path(sys.argv[1]) / f"{name}.safetensors")
