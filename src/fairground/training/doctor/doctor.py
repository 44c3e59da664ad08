"""The training doctor: watches a run, and says once of each illness what it is and what to do about it.

It only looks. No generator is drawn from, no weight touched, and losses, gradients and embeddings are those of the step
that was taken anyway. Of every batch it counts what is on the host already; at every twentieth it reads three numbers
from the device at once; at validation it looks at up to 512 embeddings that validation has made. Everything it goes by
lies in the run's place and so in every checkpoint: a run that was killed ends with the findings of one that was not.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.batch import Batch
from fairground.evaluation.analyses import analyse
from fairground.evaluation.view import EmbeddingView
from fairground.functional.spectral import collapse_of
from fairground.records.record import Finding
from fairground.spec.run import RunSpec
from fairground.training.assemble import Assembled
from fairground.training.doctor.history import EpochCheck, Observation, Sign, WatchedRun
from fairground.training.doctor.proxy_usage import ProxyUsageCounter, class_vectors_of
from fairground.training.doctor.signs.collapse import CollapseSign
from fairground.training.doctor.signs.dead_proxies import DeadProxiesSign
from fairground.training.doctor.signs.exploding_norms import ExplodingNormsSign
from fairground.training.doctor.signs.hubs import HubsSign
from fairground.training.doctor.signs.no_active_tuples import NoActiveTuplesSign
from fairground.training.doctor.signs.overfitting import OverfittingSign
from fairground.training.doctor.signs.stuck_at_margin import StuckAtMarginSign
from fairground.training.snapshot import Progress

SIGNS: Mapping[str, Sign] = {
    "collapse": CollapseSign(),
    "stuck_at_margin": StuckAtMarginSign(),
    "no_active_tuples": NoActiveTuplesSign(),
    "exploding_norms": ExplodingNormsSign(),
    "dead_proxies": DeadProxiesSign(),
    "overfitting": OverfittingSign(),
    "hubs": HubsSign(),
}
#: a look every so many batches, and at these first steps, for what explodes does so at once
EVERY = 20
EARLY = (1, 2, 4)
#: how many validation embeddings are looked at
ROWS = 512
#: JSON knows no infinity
LARGEST = 1e300


class Doctor:
    """Watches one run. `place` holds all it remembers, save the counts of class vectors, which stay on the device."""

    def __init__(self, spec: RunSpec, parts: Assembled) -> None:
        self._spec = spec
        self._parts = parts
        self._n_classes = int(parts.loader.labels.max()) + 1
        self._weights = list(parts.model.parameters())
        self._proxies = self._find_proxies()

    def after_batch(self, progress: Progress, batch: Batch, loss: float, embeddings: Tensor) -> list[Finding]:
        """Take the batch just trained on, already counted in `place`; return what is new."""
        window = progress.history.window
        window.count(loss, is_idle=self._parts.stepper.tally.is_idle())
        if progress.step % EVERY and progress.step not in EARLY:
            return []
        observation = self._observe(progress, embeddings)
        if observation.is_still and self._parts.stepper.loss.accepts:
            observation = replace(observation, at_one_point=self._loss_at_one_point(embeddings, batch.labels))
        progress.history.add_observation(observation)
        if self._proxies is not None:
            self._proxies.count(embeddings, batch.labels)
        return self._findings(progress)

    def check_up(self, progress: Progress, embeddings: Tensor, labels: np.ndarray) -> None:
        """Take the validation embeddings (n, d) of an epoch, that of the untrained model included."""
        step = -(-len(embeddings) // ROWS)
        some, classes = embeddings[::step].detach(), labels[::step]
        seen = collapse_of(some)
        hubs = {"hubness": 0.0, "largest_hub": 0.0}
        if len(some) > 2 and seen.kind not in ("not_finite", "zero", "point"):
            view = EmbeddingView(some, classes, normalise=self._parts.on_sphere(self._spec.evaluation))
            hubs |= analyse(view, analyses=["hubness"])["hubness"].values
        checkup = EpochCheck(
            epoch=progress.epoch,
            collapse=seen.kind,
            collapse_sentence=seen.sentence,
            dimensions=seen.effective_dimensions,
            hubness=hubs["hubness"],
            largest_hub=hubs["largest_hub"],
        )
        if self._proxies is not None and progress.epoch:
            checkup = replace(checkup, **self._proxies.judge()._asdict())
        progress.history.add_checkup(checkup)

    def after_epoch(self, progress: Progress) -> list[Finding]:
        """Look at the epoch that has just ended; return what is new."""
        return self._findings(progress)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold besides the place."""
        return {} if self._proxies is None else self._proxies.state()

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `tensors` gave; nothing, from a checkpoint of a run that was not watched."""
        if self._proxies is not None and tensors:
            self._proxies.load_state(tensors)

    def _findings(self, progress: Progress) -> list[Finding]:
        patient = WatchedRun(
            spec=self._spec,
            history=progress.history,
            rows=progress.rows,
            n_classes=self._n_classes,
            n_train=len(self._parts.split.train),
            step=progress.step,
        )
        known = {finding.sign for finding in progress.findings}
        found = []
        for name, sign in SIGNS.items():
            diagnosis = None if name in known else sign.check(patient)
            if diagnosis is not None:
                found.append(Finding(sign=name, epoch=progress.epoch, step=progress.step, **diagnosis._asdict()))
        progress.findings.extend(found)
        return found

    @torch.no_grad()
    def _observe(self, progress: Progress, embeddings: Tensor) -> Observation:
        lengths = torch.linalg.vector_norm(embeddings, dim=1, keepdim=True)
        centre = (embeddings / lengths.clamp_min(1e-12)).mean(0)
        gradients = [weight.grad for weight in self._weights if weight.grad is not None]
        gradient = torch.nn.utils.get_total_norm(gradients) if gradients else lengths.new_zeros(())
        measured = torch.stack([lengths.mean(), gradient.to(lengths), 1 - centre.dot(centre)]).tolist()
        norm, gradient_norm, spread = (value if math.isfinite(value) else LARGEST for value in measured)
        window = progress.history.window
        return Observation(
            step=progress.step,
            n_batches=window.n_batches,
            n_idle=window.n_idle,
            lowest=window.lowest,
            highest=window.highest,
            norm=norm,
            gradient=gradient_norm,
            spread=spread,
        )

    @torch.no_grad()
    def _loss_at_one_point(self, embeddings: Tensor, labels: Tensor) -> float | None:
        """Ask a copy of the loss, with a generator of its own: the run's may not move, nor a memory be filled."""
        loss = copy.deepcopy(self._parts.stepper.loss)
        same = embeddings.mean(0, keepdim=True).expand_as(embeddings).contiguous()
        value = float(loss(same, labels, generator=torch.Generator(embeddings.device).manual_seed(0)))
        return value if math.isfinite(value) else None

    def _find_proxies(self) -> ProxyUsageCounter | None:
        stepper, asked = self._parts.stepper, self._spec.optimiser
        width = self._parts.model.head.embedding_dim
        found = class_vectors_of(stepper.loss, n_classes=self._n_classes, embedding_dim=width)
        is_decayed = asked.loss_weight_decay > 0 and asked.name != "adamw"
        return None if found is None else ProxyUsageCounter(found, stepper.optimiser, is_decayed=is_decayed)
