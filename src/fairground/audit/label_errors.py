"""Which images probably carry a wrong label: how much nearer than its own another class is, judged out of fold.

Formula
    rows on their first `DIM` principal axes; for each fold, class means m_c and the shared covariance
    S = (1 - a) S_within + a (tr S_within / d) I are fitted on the other folds, and
    g_c(x) = x' S^-1 m_c - m_c' S^-1 m_c / 2,  suspicion(x) = max over c other than its label of g_c(x) - g_label(x)

Paper
    Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 1936, for the discriminant;
    Northcutt, Jiang and Chuang, "Confident learning", JAIR 2021, for judging labels by out-of-fold scores.

Departures from the paper
    No probability is estimated and no threshold is set: images are ranked, and people look at them.
"""

from typing import NamedTuple

import numpy as np

from fairground.audit import AuditRows, DataError, Progress, require
from fairground.contracts.dataset import Images
from fairground.evaluation.embed import embed_blocks
from fairground.training.device import device_named
from fairground.transforms.plain import PlainTransform
from fairground.trunks.efficientnet_lite0 import EfficientnetLite0Trunk

DIM, FOLDS, SHRINKAGE = 128, 5, 0.3
_BLOCK = 4096
#: images of one size up to so many pixels per side are compared by their pixels: photographs are larger
_SMALL = 48
#: share of suspects above which the features, not the labels, are the problem
_MOST = 0.3


class LabelSuspicion(NamedTuple):
    """For each row (n,): how much nearer another class is than its own, and which; minus infinity if not judged."""

    scores: np.ndarray
    suggested: np.ndarray

    def order(self) -> np.ndarray:
        """Return the rows that are nearer to another class than to their own, most suspect first."""
        rows = np.argsort(-self.scores, kind="stable")
        return rows[self.scores[rows] > 0]


def suspect_labels(features: np.ndarray, labels: np.ndarray) -> LabelSuspicion:
    """Return how suspect each label is, from features (n, d) that were not trained on these labels."""
    classes, coded, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    require(len(classes) >= 2, f"label errors need two classes at least; got {len(classes)}", DataError)
    few = "label errors need a class of three images at least: its label is judged by the others"
    require(bool((sizes >= 3).any()), few, DataError)
    rows = _principal(features)
    folds = _folds(coded, 0)
    scores, suggested = np.full(len(rows), -np.inf), coded.copy()
    for fold in range(FOLDS):
        held = np.flatnonzero(folds == fold)
        if len(held):
            scores[held], suggested[held] = _judge(rows, coded, held, len(classes))
    # Two images of a class cannot say which of them is wrong.
    scores[sizes[coded] < 3] = -np.inf
    return LabelSuspicion(scores=scores, suggested=classes[suggested])


def _judge(rows: np.ndarray, labels: np.ndarray, held: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    others = np.setdiff1d(np.arange(len(rows)), held)
    x, y = rows[others], labels[others]
    sizes = np.bincount(y, minlength=n_classes)
    means = np.zeros((n_classes, rows.shape[1]))
    np.add.at(means, y, x)
    means /= np.maximum(sizes, 1)[:, None]
    within = x - means[y]
    covariance = within.T @ within / len(x)
    spread = float(np.trace(covariance)) / len(covariance)
    covariance = (1 - SHRINKAGE) * covariance + (SHRINKAGE * spread + 1e-12) * np.eye(len(covariance))
    weights = np.linalg.solve(covariance, means.T)
    offsets = (means.T * weights).sum(0) / 2
    found = rows[held] @ weights - offsets
    found[:, sizes == 0] = -np.inf
    places = np.arange(len(held))
    own = found[places, labels[held]].copy()
    found[places, labels[held]] = -np.inf
    best = found.argmax(1)
    return np.where(np.isfinite(own), found[places, best] - own, -np.inf), best


def _folds(labels: np.ndarray, seed: int) -> np.ndarray:
    """Return a fold of each row, the rows of a class spread evenly over all of them."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[order] = np.arange(len(labels)) % FOLDS
    return folds


def _principal(features: np.ndarray) -> np.ndarray:
    """Return unit rows on their first axes; no label is looked at."""
    rows = features.reshape(len(features), -1).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows -= rows.mean(0)
    if rows.shape[1] <= DIM:
        return rows.astype(np.float64)
    gram = np.zeros((rows.shape[1], rows.shape[1]))
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK]
        gram += block.T @ block
    _, axes = np.linalg.eigh(gram)
    return np.asarray(rows @ axes[:, -DIM:].astype(np.float32), np.float64)


class LabelSuspect(NamedTuple):
    """`suspicion` is how much nearer the class `suggested` is than the image's own, out of fold; higher is worse."""

    row: int
    name: str
    label: str
    suggested: str
    suspicion: float


def weakness(n_suspects: int, n_images: int) -> str:
    """Return a warning if the features cannot tell the classes apart, else an empty string."""
    if n_suspects <= _MOST * n_images:
        return ""
    share = 100 * (1 - n_suspects / n_images)
    return f"only {share:.0f} % of images are nearest to their own class, so being suspect says little here"


def label_suspects(
    audited: AuditRows, progress: Progress = lambda *_: None, *, device: str = "auto"
) -> tuple[LabelSuspect, ...]:
    """Return the images that are nearer to another class than to their own, most suspect first."""
    table, rows = audited.table, audited.readable
    found = suspect_labels(features_of(table.images, rows, progress, device=device), table.labels[rows])
    return tuple(
        LabelSuspect(
            row=int(rows[place]),
            name=audited.names[rows[place]],
            label=table.class_names[table.labels[rows[place]]],
            suggested=table.class_names[found.suggested[place]],
            suspicion=float(found.scores[place]),
        )
        for place in found.order()
    )


def features_of(
    images: Images, rows: np.ndarray, progress: Progress = lambda *_: None, *, device: str = "auto"
) -> np.ndarray:
    """Return the features labels are judged by: given ones, pixels of small images, or a pretrained network's."""
    if not images.is_picture:
        return images.take(rows).numpy().astype(np.float32)
    sizes = images.sizes(rows)
    if len(np.unique(sizes, axis=0)) == 1 and int(sizes[0].max()) <= _SMALL:
        return images.take(rows).numpy().reshape(len(rows), -1)
    place = device_named(device)
    trunk = EfficientnetLite0Trunk(channels=images.channels).to(place)
    transform = PlainTransform(preprocessing=trunk.preprocessing)
    blocks = []
    for block in embed_blocks(trunk, images, rows, transform, device=place):
        blocks.append(block.cpu().numpy())
        progress(sum(map(len, blocks)), len(rows))
    return np.concatenate(blocks)
