"""The training doctor: watches a run, and names each problem once with what to do about it.

It only looks: it draws from no generator and touches no weight, and losses, gradients and embeddings are those of the
step that was taken anyway. Of every batch it counts what is on the host already; at every twentieth it reads three
numbers from the device at once; at validation it looks at up to 512 embeddings. All it remembers is in every
checkpoint, so a run that was killed ends with the findings of one that was not.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn, optim

from fairground.contracts.model import Batch
from fairground.evaluation.analyses import analyse
from fairground.evaluation.embedding_view import EmbeddingView
from fairground.functional.pairs import normalize
from fairground.functional.spectral import collapse_of
from fairground.records.record import Finding
from fairground.spec.run import RunSpec
from fairground.training.assemble import Assembled
from fairground.training.doctor_signs import SIGNS, EpochCheck, Observation, WatchedRun
from fairground.training.progress import Progress

#: one observation per so many batches, and at these first steps, because what explodes does so at once
EVERY = 20
EARLY = (1, 2, 4)
#: validation embeddings looked at
ROWS = 512
#: stands for infinity, which JSON does not have
LARGEST = 1e300
#: images of a class that must be seen before its class vector is judged
LEAST_SEEN = 8


class Doctor:
    """Watches one run. `progress` holds all it remembers, except sums over class vectors, which stay on the device."""

    def __init__(self, spec: RunSpec, parts: Assembled) -> None:
        self._spec, self._parts = spec, parts
        self._n_classes = int(parts.loader.labels.max()) + 1
        self._weights = list(parts.model.parameters())
        stepper, asked = parts.stepper, spec.optimiser
        found = class_vectors_of(stepper.loss, n_classes=self._n_classes, embedding_dim=parts.model.head.embedding_dim)
        is_decayed = asked.loss_weight_decay > 0 and asked.name != "adamw"
        self._proxies = None if found is None else ProxyUsage(found, stepper.optimiser, is_decayed=is_decayed)

    def after_batch(self, progress: Progress, batch: Batch, loss: float, embeddings: Tensor) -> list[Finding]:
        """Look at the batch just trained on, already counted in `progress`; return what is new."""
        progress.history.window.count(loss, is_idle=self._parts.stepper.tally.is_idle())
        if progress.step % EVERY and progress.step not in EARLY:
            return []
        observation = self._observe(progress, embeddings)
        if observation.is_still and self._parts.stepper.loss.accepts:
            observation = replace(observation, at_one_point=self._loss_at_one_point(embeddings, batch.labels))
        progress.history.add_observation(observation)
        if self._proxies is not None:
            self._proxies.count(embeddings, batch.labels)
        return self.findings(progress)

    def check_up(self, progress: Progress, embeddings: Tensor, labels: np.ndarray) -> None:
        """Look at the validation embeddings (n, d) of an epoch, that of the untrained model included."""
        step = -(-len(embeddings) // ROWS)
        some, classes = embeddings[::step].detach(), labels[::step]
        seen = collapse_of(some)
        hubs = {"hubness": 0.0, "largest_hub": 0.0}
        if len(some) > 2 and seen.kind not in ("not_finite", "zero", "point"):
            view = EmbeddingView(some, classes, normalise=self._parts.on_sphere(self._spec.evaluation))
            hubs |= analyse(view, analyses=["hubness"])["hubness"].values
        proxies = {} if self._proxies is None or not progress.epoch else self._proxies.judge()
        checkup = EpochCheck(
            epoch=progress.epoch,
            collapse=seen.kind,
            collapse_sentence=seen.sentence,
            dimensions=seen.effective_dimensions,
            hubness=hubs["hubness"],
            largest_hub=hubs["largest_hub"],
            **proxies,
        )
        progress.history.add_checkup(checkup)

    def findings(self, progress: Progress) -> list[Finding]:
        """Return what is new, and note it in `progress`."""
        run = WatchedRun(
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
            diagnosis = None if name in known else sign(run)
            if diagnosis is not None:
                found.append(Finding(sign=name, epoch=progress.epoch, step=progress.step, **diagnosis._asdict()))
        progress.findings.extend(found)
        return found

    def tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold besides the progress."""
        return {} if self._proxies is None else {"sums": self._proxies.sums}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `tensors` gave; nothing, from a checkpoint of a run that was not watched."""
        if self._proxies is not None and tensors:
            self._proxies.sums.copy_(tensors["sums"])

    @torch.no_grad()
    def _observe(self, progress: Progress, embeddings: Tensor) -> Observation:
        lengths = torch.linalg.vector_norm(embeddings, dim=1, keepdim=True)
        centre = (embeddings / lengths.clamp_min(1e-12)).mean(0)
        gradients = [weight.grad for weight in self._weights if weight.grad is not None]
        gradient = nn.utils.get_total_norm(gradients) if gradients else lengths.new_zeros(())
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
        """Ask a copy of the loss with its own generator: the run's may not move, and no memory may be filled."""
        loss = copy.deepcopy(self._parts.stepper.loss)
        same = embeddings.mean(0, keepdim=True).expand_as(embeddings).contiguous()
        value = float(loss(same, labels, generator=torch.Generator(embeddings.device).manual_seed(0)))
        return value if math.isfinite(value) else None


class ProxyUsage:
    """The class vectors (C, d) or (C, K, d) of a loss, and how near each class is to its own images and to all.

    Sums stay on the device; those of a class start from zero once it was judged, so that rare classes are judged too.
    """

    def __init__(self, proxies: nn.Parameter, optimiser: optim.Optimizer, *, is_decayed: bool) -> None:
        self.proxies, self._optimiser, self._is_decayed = proxies, optimiser, is_decayed
        #: per class: images of it seen, cosines with them, cosines with all images seen, and how many those are
        self.sums = torch.zeros(4, len(proxies), dtype=torch.float64, device=proxies.device)

    @torch.no_grad()
    def count(self, embeddings: Tensor, labels: Tensor) -> None:
        """Count one batch."""
        vectors = self.proxies.to(embeddings.dtype)
        cosine = normalize(embeddings) @ normalize(vectors.flatten(0, -2)).T
        nearest = cosine if vectors.ndim == 2 else cosine.view(len(cosine), len(vectors), -1).amax(2)
        seen, own, everyone, n_images = self.sums
        seen.scatter_add_(0, labels, torch.ones_like(labels, dtype=torch.float64))
        own.scatter_add_(0, labels, nearest.gather(1, labels.unsqueeze(1)).squeeze(1).double())
        everyone += nearest.sum(0)
        n_images += len(labels)

    @torch.no_grad()
    def judge(self) -> dict[str, int]:
        """Judge the classes seen often enough, as `EpochCheck` has it, and reset their sums."""
        seen, own, everyone, n_images = self.sums
        is_judged = (seen >= LEAST_SEEN) & (n_images > seen)
        is_lost = is_judged & (own / seen.clamp_min(1) <= (everyone - own) / (n_images - seen).clamp_min(1))
        verdict = {
            "n_proxies": self.proxies.numel() // self.proxies.shape[-1],
            "n_judged": int(is_judged.sum()),
            "n_lost": int(is_lost.sum()),
            "n_untouched": self._untouched(),
        }
        self.sums.masked_fill_(is_judged, 0)
        return verdict

    def _untouched(self) -> int:
        """Count vectors whose squared gradients or momentum are exactly 0; weight decay alone would leave a trace."""
        memory = self._optimiser.state.get(self.proxies, {})
        names = ("exp_avg_sq", "square_avg", "momentum_buffer")
        trace = next((memory[name] for name in names if isinstance(memory.get(name), Tensor)), None)
        return 0 if trace is None or self._is_decayed else int((trace == 0).all(-1).sum())


def class_vectors_of(loss: nn.Module, *, n_classes: int, embedding_dim: int) -> nn.Parameter | None:
    """Return the first learnable tensor with one or several vectors per class; None where there is none."""
    for weight in loss.parameters():
        if weight.ndim in (2, 3) and weight.shape[0] == n_classes and weight.shape[-1] == embedding_dim:
            return weight
    return None
