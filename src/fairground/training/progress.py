"""How far a run has come, and all that decides its future: taken out of its live objects and put back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from fairground.contracts.metric import Metric
from fairground.records.record import EpochRow, Finding
from fairground.training.assemble import Assembled
from fairground.training.checkpoint import Snapshot
from fairground.training.doctor_signs import History


@dataclass
class Progress:
    """Epoch 0 is the untrained model; `batch` counts within the current epoch."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    epoch_seconds: float = 0.0
    started: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory: int = 0
    threads: int = 0
    rows: list[EpochRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best_epoch: int | None = None
    best_score: float | None = None
    best: dict[str, str] | None = None
    findings: list[Finding] = field(default_factory=list)
    history: History = field(default_factory=History)

    def is_new_best(self, score: float, metric: Metric) -> bool:
        """Whether a score is better than that of the epoch kept so far; the first of equal scores is kept."""
        return self.best_score is None or metric.is_better(score, self.best_score)

    def is_out_of_patience(self, patience: int) -> bool:
        """Whether more than `patience` epochs have ended since the best one; 0 never runs out."""
        return patience > 0 and self.best_epoch is not None and self.epoch - 1 - self.best_epoch > patience


def take_snapshot(parts: Assembled, progress: Progress, watched: Mapping[str, Tensor]) -> Snapshot:
    """Return weights, optimiser, sampler, generators, the doctor's tensors in `watched`, and the progress."""
    slots: dict[str, Tensor] = {}
    numbers: dict[str, dict[str, Any]] = {}
    for index, memory in parts.stepper.optimiser.state_dict()["state"].items():
        for name, value in memory.items():
            if isinstance(value, Tensor):
                slots[f"{index}/{name}"] = value
            else:
                numbers.setdefault(str(index), {})[name] = value
    drawing = parts.loader.state()
    groups: dict[str, Mapping[str, Tensor]] = {
        "model": parts.model.state_dict(),
        "loss": parts.stepper.loss.state_dict(),
        "optimiser": slots,
        "sampler": drawing["sampler"],
        "generator": {**drawing["generator"], "miner": parts.stepper.generator.get_state()},
        "global": {"state": torch.get_rng_state()},
        "doctor": watched,
        "average": {} if parts.stepper.average is None else parts.stepper.average.state(),
    }
    tensors = {f"{group}/{name}": tensor for group, items in groups.items() for name, tensor in items.items()}
    return Snapshot(tensors=tensors, values={**asdict(progress), "optimiser": numbers})


def put_back(parts: Assembled, snapshot: Snapshot) -> tuple[Progress, Mapping[str, Tensor]]:
    """Restore the live objects; return the progress and the doctor's tensors."""
    groups: dict[str, dict[str, Tensor]] = {}
    for key, tensor in snapshot.tensors.items():
        group, _, name = key.partition("/")
        groups.setdefault(group, {})[name] = tensor
    # Ready-made features without a head have no weights at all.
    parts.model.load_state_dict(groups.get("model", {}))
    parts.stepper.loss.load_state_dict(groups.get("loss", {}))
    if parts.stepper.average is not None:
        parts.stepper.average.load_state(groups["average"])
    parts.loader.load_state(groups)
    parts.stepper.generator.set_state(groups["generator"]["miner"])
    torch.set_rng_state(groups["global"]["state"])
    _restore_optimiser(parts.stepper.optimiser, groups.get("optimiser", {}), snapshot.values["optimiser"])
    values = {name: snapshot.values[name] for name in Progress.__dataclass_fields__}
    values["rows"] = [EpochRow(**row) for row in values["rows"]]
    values["findings"] = [Finding(**finding) for finding in values["findings"]]
    values["history"] = History.from_plain(values["history"])
    return Progress(**values), groups.get("doctor", {})


def _restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor], numbers: Mapping[str, Mapping[str, Any]]
) -> None:
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    state: dict[int, dict[str, Any]] = {int(index): dict(slots) for index, slots in numbers.items()}
    for key, tensor in tensors.items():
        index, _, name = key.partition("/")
        weight = weights[int(index)]
        # A fused optimiser walks weight and memory side by side, so both must have the same layout.
        alike = torch.empty_like(weight, dtype=tensor.dtype).copy_(tensor) if tensor.shape == weight.shape else tensor
        state.setdefault(int(index), {})[name] = alike
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
