"""FRD: the best of the candidates, by a loop with matrix roots."""

import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm

from fairground.errors import DataError, InputError
from fairground.samplers import FrechetSampler
from fairground.samplers._class_draws import ClassRows, draw_candidates
from tests.samplers.splits import clustered, even_split, seeded

LABELS = even_split(n_classes=30, size=12)


def by_roots(points, batch):
    """The formula as the card has it: 1e-8 on the diagonal before the matrix root, and its real part."""
    shift = points[batch].mean(0) - points.mean(0)
    lift = 1e-8 * np.eye(points.shape[1])
    own, whole = np.cov(points[batch].T), np.cov(points.T)
    root = sqrtm((own + lift) @ (whole + lift)).real
    return shift @ shift + np.trace(own + whole - 2 * root)


@pytest.mark.parametrize(("dimension", "per_class"), [(8, 4), (8, 2), (48, 4)])
@pytest.mark.parametrize("replace_classes", [False, True])
def test_the_best_of_the_candidates_is_taken(dimension, per_class, replace_classes):
    embeddings = torch.nn.functional.normalize(clustered(LABELS, dimension=dimension, spread=0.7))
    sampler = FrechetSampler(
        labels=LABELS, batch_size=40, per_class=per_class, pool=200, replace_classes=replace_classes
    )
    sampler.fill(embeddings)
    chosen = set()
    for seed in range(6):
        rows, batches = draw_candidates(
            ClassRows(LABELS),
            pool=200,
            n_candidates=10,
            n_slots=40 // per_class,
            per_class=per_class,
            replace_classes=replace_classes,
            generator=seeded(seed),
        )
        points = embeddings[rows].double().numpy()
        best = int(np.argmin([by_roots(points, batch.numpy()) for batch in batches]))
        assert torch.equal(sampler.draw(seeded(seed)), rows[batches[best]])
        chosen.add(best)
    assert len(chosen) > 2


def test_refusals():
    with pytest.raises(InputError, match=r"sampler\.candidates must be at least 1; got 0"):
        FrechetSampler(labels=LABELS, batch_size=40, candidates=0)
    with pytest.raises(InputError, match="a batch of 1 has no covariance"):
        FrechetSampler(labels=LABELS, batch_size=1, per_class=1)
    with pytest.raises(DataError, match="needs 56 different classes; the training split has 30"):
        FrechetSampler(labels=LABELS, batch_size=112, per_class=2)
