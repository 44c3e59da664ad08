"""Epochs, validation, patience; a checkpoint after each epoch and every so often within one.

All that decides the future of a run is in its snapshot, so results do not depend on when a checkpoint is written.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch

from fairground.evaluation.embed import embed
from fairground.evaluation.metric_scores import metric_named
from fairground.records import BatchTrained, Clock, EpochEnded, EpochRow, Finding, Listener, MeasuringStarted, Note
from fairground.spec import DivergedError, from_plain
from fairground.training import Assembled, Checkpoints, Doctor, History, Schedule, Snapshot, start_head
from fairground.training.device import peak_device_memory, set_streams, stream_states
from fairground.training.embeddings_to_scores import analyse_train, measure

#: what Roth et al. log of the training split after every epoch
MEASURES = ("rho", "pi")


class StoppedError(KeyboardInterrupt):
    """Training was asked to stop; a checkpoint has been written."""


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
    peak_device_memory: int = 0
    #: the kind the run began on; another one computes other last digits
    device: str = "cpu"
    #: sums split over another number of threads round differently
    threads: int = field(default_factory=torch.get_num_threads)
    rows: list[EpochRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best_epoch: int | None = None
    best_score: float | None = None
    best: dict[str, str] | None = None
    findings: list[Finding] = field(default_factory=list)
    history: History = field(default_factory=History)


@dataclass
class Training:
    """One run under way, watched by the doctor unless `is_watched` is false, which changes no result."""

    parts: Assembled
    checkpoints: Checkpoints
    #: the rows whose scores select, where the spec lets others than those of the validation split do so
    judged: np.ndarray | None = None
    #: the rows of a test split that is measured after each validation and selects nothing
    watched_test: np.ndarray | None = None
    progress: Progress = field(default_factory=Progress)
    clock: Clock = field(default_factory=Clock)
    listen: Listener = lambda _: None
    should_stop: Callable[[], bool] = lambda: False
    checkpoint_seconds: float = 30.0
    is_watched: bool = True

    def __post_init__(self) -> None:
        self.spec, self.group = self.parts.spec, self.parts.stepper.group
        self.doctor = Doctor(self.parts, self.listen) if self.is_watched else None
        self.select_by = metric_named(self.spec.evaluation.select_by)
        self.schedule = Schedule(self.spec, self.parts.stepper.optimiser, self.parts.model, self.parts.n_batches)

    def train(self) -> None:
        if self.progress.epoch == 0:
            self.begin()
        training = self.spec.training
        while self.progress.epoch <= training.epochs:
            best, last = self.progress.best_epoch, self.progress.epoch - 1
            is_measured = last % training.validate_every == 0
            if training.patience and best is not None and is_measured and last - best > training.patience:
                break
            self._epoch()

    def resume(self) -> None:
        """Go on from the newest undamaged checkpoint, if there is one, with the threads the run began with."""
        snapshot = self.checkpoints.load()
        if snapshot is None:
            return
        asked = torch.get_num_threads()
        self.progress = put_back(self.parts, snapshot)
        now = self.progress
        self.clock = Clock(now.started, now.seconds, now.cpu_seconds, now.peak_memory)
        if (begun := now.threads) != asked:
            self.listen(Note(f"threads: {begun} as when the run began, not {asked}, which could change its results"))
            torch.set_num_threads(begun)
        if (kind := self.parts.device.type) != now.device:
            note = f"begun on {now.device} and continued on {kind}: not bit-identical to a run on one kind of device"
            self.listen(Note(note))
            now.notes.append(note)
            now.device = kind

    def use_best(self) -> None:
        """Put the selected weights into the model; the last ones where nothing was selected."""
        if self.progress.best is not None:
            self.parts.model.load_state_dict(self.checkpoints.load_best(self.progress.best))

    def begin(self) -> None:
        start_head(self.parts)
        if self.parts.stepper.average is not None:
            self.parts.stepper.average.start()
        sampler = self.parts.loader.sampler
        if sampler.needs_embeddings:
            sampler.fill(self.embed(self.parts.split.train).cpu())
        self.progress.started, self.progress.device = self.clock.started, self.parts.device.type
        validation, test = self._validate(), self._watch_test()
        row = EpochRow(epoch=0, step=0, loss=None, validation=validation, test=test, train=self._analyse())
        self.progress.rows.append(row)
        self.listen(EpochEnded(row=row, n_epochs=self.spec.training.epochs))
        if self.spec.training.epochs == 0:
            # Nothing will be trained, so the weights it starts with are the ones to measure and to use.
            self.progress.best_epoch = 0
            self.progress.notes.append("untrained: measured with the weights it starts with")
        self.progress.epoch = 1
        self._save()

    def _epoch(self) -> None:
        progress, training = self.progress, self.spec.training
        self.parts.model.train()
        self.schedule.before_epoch(progress.epoch)
        begun = saved = time.monotonic()
        before = progress.epoch_seconds
        if progress.batch == 0:
            self.parts.loader.start_epoch()
        while progress.batch < self.parts.n_batches:
            self.batch()
            now = time.monotonic()
            progress.epoch_seconds = before + now - begun
            images_per_second = progress.batch * training.batch_size / max(progress.epoch_seconds, 1e-9)
            place = (progress.epoch, training.epochs, progress.batch, self.parts.n_batches)
            self.listen(BatchTrained(*place, progress.loss_sum / progress.batch, images_per_second))
            if self.group.any(self.should_stop()):
                self._save()
                raise StoppedError
            if now - saved > self.checkpoint_seconds:
                self._save()
                saved = time.monotonic()
        is_due = progress.epoch % training.validate_every == 0 or progress.epoch == training.epochs
        self._end_epoch(self._validate() if is_due else {})

    def batch(self) -> None:
        progress, parts = self.progress, self.parts
        batch = parts.loader.draw(is_last=progress.batch + 1 >= parts.n_batches)
        self.schedule.before_step(progress.step)
        try:
            value, embeddings = parts.stepper.step(batch)
        except DivergedError as error:
            raise DivergedError(f"diverged at step {progress.step + 1} (epoch {progress.epoch}): {error}") from error
        if parts.loader.sampler.needs_embeddings:
            parts.loader.sampler.observe(batch.rows, embeddings.cpu())
        progress.loss_sum += value
        progress.batch += 1
        progress.step += 1
        if self.doctor is not None:
            self.doctor.after_batch(progress, batch, value, embeddings)

    def _end_epoch(self, scores: dict[str, float]) -> None:
        progress = self.progress
        images = progress.batch * self.spec.training.batch_size
        row = EpochRow(
            epoch=progress.epoch,
            step=progress.step,
            loss=progress.loss_sum / max(progress.batch, 1),
            validation=scores,
            seconds=progress.epoch_seconds,
            images_per_second=images / max(progress.epoch_seconds, 1e-9),
            test=self._watch_test() if scores else {},
            train=self._analyse(),
        )
        progress.rows.append(row)
        if self.doctor is not None:
            self.doctor.look(progress)
        score = scores.get(self.spec.evaluation.select_by)
        # The first of equal scores is kept.
        if score is not None and (progress.best_score is None or self.select_by.is_better(score, progress.best_score)):
            progress.best_epoch, progress.best_score = progress.epoch, score
            with self._averaged():
                progress.best = self.checkpoints.save_best(progress.epoch, self.parts.model.state_dict())
        progress.epoch, progress.batch, progress.loss_sum, progress.epoch_seconds = progress.epoch + 1, 0, 0.0, 0.0
        self._save()
        self.listen(EpochEnded(row=row, n_epochs=self.spec.training.epochs))

    def peak_device_memory(self) -> int:
        return max(self.progress.peak_device_memory, peak_device_memory(self.parts.device))

    def embed(self, rows: np.ndarray) -> torch.Tensor:
        parts = self.parts
        return self.group.divided(
            lambda some: embed(parts.model, parts.table.images, some, parts.transform, device=parts.device), rows
        )

    def _validate(self) -> dict[str, float]:
        rows = self.parts.split.validation if self.judged is None else self.judged
        self.listen(MeasuringStarted(n_images=len(rows)))
        embeddings = self._embed_averaged(rows)
        if self.doctor is not None:
            self.doctor.check_up(self.progress, embeddings, self.parts.table.labels[rows])
        return self._scores(embeddings, rows)

    def _watch_test(self) -> dict[str, float]:
        rows = self.watched_test
        return {} if rows is None else self._scores(self._embed_averaged(rows), rows)

    def _analyse(self) -> dict[str, float]:
        """Return rho and pi of the training split, where this epoch is due or the last."""
        every, epoch = self.spec.training.analyse_every, self.progress.epoch
        if every == 0 or (epoch % every and epoch != self.spec.training.epochs):
            return {}
        embeddings = self._embed_averaged(self.parts.split.train)
        return self.group.broadcast_object(lambda: analyse_train(self.parts, embeddings, MEASURES)[0])

    def _scores(self, embeddings: torch.Tensor, rows: np.ndarray) -> dict[str, float]:
        return self.group.broadcast_object(lambda: dict(measure(self.parts, embeddings, rows).scores))

    def _embed_averaged(self, rows: np.ndarray) -> torch.Tensor:
        with self._averaged():
            return self.embed(rows)

    def _averaged(self) -> AbstractContextManager[None]:
        average = self.parts.stepper.average
        return nullcontext() if average is None else average.in_place()

    def _save(self) -> None:
        now, clock = self.progress, self.clock
        now.seconds, now.cpu_seconds, now.peak_memory = clock.seconds(), clock.cpu_seconds(), clock.peak()
        now.peak_device_memory = self.peak_device_memory()
        self.checkpoints.save(now.step, take_snapshot(self.parts, now))


def take_snapshot(parts: Assembled, progress: Progress) -> Snapshot:
    """Return weights, optimiser, sampler, generators, and the progress."""
    slots: dict[str, torch.Tensor] = {}
    numbers: dict[str, dict[str, Any]] = {}
    for index, memory in parts.stepper.optimiser.state_dict()["state"].items():
        for name, value in memory.items():
            if isinstance(value, torch.Tensor):
                slots[f"{index}/{name}"] = value
            else:
                numbers.setdefault(str(index), {})[name] = value
    drawing = parts.loader.state()
    groups: dict[str, Mapping[str, torch.Tensor]] = {
        "model": parts.model.state_dict(),
        "loss": parts.stepper.loss.state_dict(),
        "optimiser": slots,
        "sampler": drawing["sampler"],
        "generator": {**drawing["generator"], "miner": parts.stepper.generator.get_state()},
        "global": stream_states(parts.device),
        "average": {} if parts.stepper.average is None else parts.stepper.average.state(),
    }
    tensors = {f"{group}/{name}": tensor for group, items in groups.items() for name, tensor in items.items()}
    others = {"optimiser": numbers, "scaler": parts.stepper.scaler.state_dict(), "content": dict(parts.content)}
    return Snapshot(tensors=tensors, values={**asdict(progress), **others})


def put_back(parts: Assembled, snapshot: Snapshot) -> Progress:
    groups: dict[str, dict[str, torch.Tensor]] = {}
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
    set_streams(parts.device, groups["global"])
    optimiser = parts.stepper.optimiser
    state = {int(index): dict(slots) for index, slots in snapshot.values["optimiser"].items()}
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    for key, tensor in groups.get("optimiser", {}).items():
        index, _, name = key.partition("/")
        weight = weights[int(index)]
        # A fused optimiser walks weight and memory side by side, so both must have the same layout.
        alike = torch.empty_like(weight, dtype=tensor.dtype).copy_(tensor) if tensor.shape == weight.shape else tensor
        state.setdefault(int(index), {})[name] = alike
    if scaled := snapshot.values["scaler"]:
        parts.stepper.scaler.load_state_dict(scaled)
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    progress: Progress = from_plain(Progress, {name: snapshot.values[name] for name in Progress.__dataclass_fields__})
    return progress
