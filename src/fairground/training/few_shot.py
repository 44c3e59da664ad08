"""Few-shot adaptation: what a stored run gains on its test classes from a few labelled images of each.

Formula
    an episode draws `shots` images of every test class; the head alone is trained on them, with the margin loss and
    distance-weighted mining, by its optimiser at ten times its rate; scores before and after are of all other images

Paper
    Milbich et al., "Characterizing Generalization under Out-Of-Distribution Shifts in Deep Metric Learning", NeurIPS
    2021, section 5: a few images of the test classes often help more than another loss.

Departures from the paper
    The images of an episode are drawn by a seed, not listed.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fairground.contracts import Batch, require
from fairground.evaluation import evaluate
from fairground.evaluation.embed import embed
from fairground.files import read_with_digest, write_with_digest
from fairground.records import RunFolder, Store
from fairground.spec import ComponentSpec
from fairground.training import Assembled, EmbeddingModel, build_loss, build_stepper, reopen, unsealed_test_rows
from fairground.trunks.features import FeaturesTrunk

STEPS = 1000
FASTER = 10


class Episode(NamedTuple):
    """Scores of the same images before and after the head was trained on `n_shown` others."""

    before: dict[str, float]
    after: dict[str, float]
    n_shown: int


def few_shot_episodes(
    home: Path,
    name: str,
    *,
    shots: int,
    episodes: int = 10,
    steps: int = STEPS,
    metrics: Sequence[str] | None = None,
    device: str = "auto",
    tell: Callable[[int, int], None] = lambda *_: None,
) -> list[Episode]:
    """Return the episodes of a stored run and keep them beside it, for its page.

    The test split is opened, which its events tell.
    """
    require(shots >= 2, f"shots must be at least 2, so that there are pairs to learn from; got {shots}")
    parts = reopen(home, name, device=device)
    rows = unsealed_test_rows(parts, Store(home), name)
    require(any(True for _ in parts.model.head.parameters()), f"head {parts.spec.head.name} has no weights to train")
    features = embed(parts.model.trunk, parts.table.images, rows, parts.transform, device=parts.device).to(parts.device)
    labels = parts.table.labels[rows]
    asked = list(metrics or parts.spec.evaluation.metrics)
    found = []
    for number in range(episodes):
        tell(number, episodes)
        shown = _drawn(labels, shots, number)
        require(len(shown) < len(labels), f"no test class has more than {shots} images, so none is left to measure")
        head, on_sphere = _tuned_head(parts, features[shown], rows[shown], steps, seed=number)
        others = np.setdiff1d(np.arange(len(labels)), shown)
        with torch.no_grad():
            old, new = parts.model.head(features[others]), head(features[others])
        before = evaluate(old, labels[others], asked, normalise=parts.on_sphere, distance=parts.distance)
        after = evaluate(new, labels[others], asked, normalise=on_sphere)
        found.append(Episode(before, after, len(shown)))
    kept = RunFolder(home, name).few_shot
    stored = read_with_digest(kept) if kept.exists() else {}
    plain = {"steps": steps, "episodes": [one._asdict() for one in found]}
    write_with_digest(kept, {**stored, str(shots): plain})
    return found


def _drawn(labels: np.ndarray, shots: int, seed: int) -> np.ndarray:
    """Return the places of `shots` images of every class that has more, ascending."""
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    _, first, size = np.unique(labels[order], return_index=True, return_counts=True)
    chosen = [order[begin : begin + shots] for begin, n in zip(first, size, strict=True) if n > shots]
    return np.sort(np.concatenate(chosen)) if chosen else order


def _tuned_head(
    parts: Assembled, features: torch.Tensor, shown: np.ndarray, steps: int, *, seed: int
) -> tuple[torch.nn.Module, bool]:
    """Return the head after training on features of the images shown, and whether it is compared at unit length."""
    given = parts.spec.optimiser
    optimiser = replace(given, lr=FASTER * given.lr, head_lr=given.head_lr and FASTER * given.head_lr)
    wanted, miner = ComponentSpec(name="margin"), ComponentSpec(name="distance_weighted")
    spec = replace(parts.spec, loss=wanted, miner=miner, regulariser=None, optimiser=optimiser, seed=seed)
    classes = np.unique(parts.table.labels[shown], return_inverse=True)[1]
    model = EmbeddingModel(trunk=FeaturesTrunk(channels=features.shape[1]), head=deepcopy(parts.model.head))
    model = model.to(parts.device)
    loss = build_loss(spec, model.head, parts.table, shown).to(parts.device)
    stepper = build_stepper(spec, model, loss)
    model.train()
    for rows in _batches(classes, spec.training.batch_size, steps, seed):
        stepper.step(Batch([features[rows]], torch.from_numpy(classes[rows]), torch.from_numpy(rows)))
    return model.eval().head, loss.on_sphere


def _batches(classes: np.ndarray, size: int, steps: int, seed: int) -> Iterator[np.ndarray]:
    """Yield rows of as many classes as fit, all images of each."""
    generator, n_classes = np.random.default_rng(seed), int(classes.max()) + 1
    order = np.argsort(classes, kind="stable").reshape(n_classes, -1)
    n_drawn = max(2, min(n_classes, size // order.shape[1]))
    for _ in range(steps):
        yield order[generator.permutation(n_classes)[:n_drawn]].ravel()
