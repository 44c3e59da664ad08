from math import sqrt

import pytest
import torch

from fairground.contracts.loss import Triplets
from fairground.errors import InputError
from fairground.losses import QuadrupletLoss
from fairground.losses.quadruplet import _draw_stranger
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, T8B, X


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_value_by_hand():
    # On the circle: a positive pair a quarter apart, two strangers opposite each other and a quarter from either.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    value = QuadrupletLoss(margin=0.1, second_margin=1)(embeddings, torch.tensor([0, 0, 1, 2]))
    first = (0 + 0.1 + 0.1 + 0) / 4  # each anchor has one negative at 2 and one at sqrt(2)
    second = sqrt(2) - sqrt(2) + 1
    assert value.item() == pytest.approx(first + second, abs=1e-6)


def test_fixture_value():
    # Means over all tuples, as Roth et al. take them.
    assert QuadrupletLoss()(X, F8B).item() == pytest.approx(1.077631775, abs=1e-9)
    first = QuadrupletLoss(second_margin=-2)(X, F8B)
    assert first.item() == pytest.approx(0.733424856, abs=1e-9)


@pytest.mark.parametrize("reduction", ["mean_nz", "mean_all"])
@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_loops(labels, reduction):
    d, y = loops.distances(X), labels.tolist()
    first = [
        max(0.0, d[a][p] - d[a][n] + 0.6) for a, p in loops.positive_pairs(labels) for n in loops.negatives(labels, a)
    ]
    second = [
        max(0.0, d[a][p] - d[n][m] + 0.4)
        for a, p in loops.positive_pairs(labels)
        for n in loops.negatives(labels, a)
        for m in loops.negatives(labels, a)
        if y[n] != y[m]
    ]
    mean = loops.mean_nonzero if reduction == "mean_nz" else loops.mean
    loss = QuadrupletLoss(margin=0.6, second_margin=0.4, reduction=reduction)
    assert loss(X, labels).item() == pytest.approx(mean(first) + mean(second), abs=1e-12)


def test_fewer_than_three_classes_leave_the_triplets():
    labels = torch.tensor([0, 0, 1, 1, 0, 1, 0, 1])
    d = loops.distances(X)
    first = [
        max(0.0, d[a][p] - d[a][n] + 1) for a, p in loops.positive_pairs(labels) for n in loops.negatives(labels, a)
    ]
    assert QuadrupletLoss()(X, labels).item() == pytest.approx(loops.mean(first), abs=1e-12)
    triplets = Triplets(*(torch.tensor([row]) for row in (0, 1, 2)))
    first = max(0.0, d[0][1] - d[0][2] + 1)
    assert QuadrupletLoss()(X, labels, triplets, generator=_generator()).item() == pytest.approx(first, abs=1e-12)


def _first_term(d: list[list[float]]) -> float:
    a, p, n = (index.tolist() for index in T8B)
    return loops.mean([max(0.0, d[a[t]][p[t]] - d[a[t]][n[t]] + 1) for t in range(8)])


def test_matched_pairing_takes_one_stranger_a_triplet():
    fourth, exists = _draw_stranger(F8B, F8B[T8B.anchor], F8B[T8B.negative], _generator(3))
    assert exists.all()
    d = loops.distances(X)
    a, p, n = (index.tolist() for index in T8B)
    second = [max(0.0, d[a[t]][p[t]] - d[n[t]][fourth[t]] + 0.5) for t in range(8)]
    value = QuadrupletLoss()(X, F8B, T8B, generator=_generator(3))
    assert value.item() == pytest.approx(_first_term(d) + loops.mean(second), abs=1e-12)


def test_pairing_all_leaves_out_what_the_classes_forbid():
    fourth, _ = _draw_stranger(F8B, F8B[T8B.anchor], F8B[T8B.negative], _generator(3))
    d, y = loops.distances(X), F8B.tolist()
    a, p, n = (index.tolist() for index in T8B)
    second = [
        max(0.0, d[a[t]][p[t]] - d[n[t]][m] + 0.5)
        for t in range(8)
        for m in fourth.tolist()
        if y[m] not in (y[a[t]], y[n[t]])
    ]
    for reduction, mean in (("mean_all", loops.mean), ("mean_nz", loops.mean_nonzero)):
        first = [max(0.0, d[a[t]][p[t]] - d[a[t]][n[t]] + 1) for t in range(8)]
        value = QuadrupletLoss(pairing="all", reduction=reduction)(X, F8B, T8B, generator=_generator(3))
        assert value.item() == pytest.approx(mean(first) + mean(second), abs=1e-12)


def test_the_code_of_roth_pairs_every_triplet_with_every_draw():
    number, _ = _draw_stranger(T8B.negative, T8B.negative, T8B.negative, _generator(5))
    d = loops.distances(X)
    a, p, n = (index.tolist() for index in T8B)
    second = [max(0.0, d[a[t]][p[t]] - d[n[t]][m] + 0.5) for t in range(8) for m in T8B.anchor[number].tolist()]
    loss = QuadrupletLoss(fourth="roth_code", pairing="all")
    value = loss(X, F8B, T8B, generator=_generator(5))
    assert value.item() == pytest.approx(_first_term(d) + loops.mean(second), abs=1e-12)
    assert "E23" in loss.known_bugs()[0]
    assert QuadrupletLoss().known_bugs() == ()


def test_strangers_are_of_neither_class_and_all_equally_likely():
    one, other = torch.zeros(6000, dtype=torch.long), torch.full((6000,), 2)
    rows, exists = _draw_stranger(F8, one, other, _generator())
    assert exists.all()
    # Classes 1 and 3 have rows 3, 4 and 7.
    counts = torch.bincount(rows, minlength=8)
    assert counts[[0, 1, 2, 5, 6]].sum() == 0
    assert (counts[[3, 4, 7]] - 2000).abs().max() < 200


def test_with_the_same_class_twice_all_others_are_strangers():
    rows, exists = _draw_stranger(F8, F8[[7] * 2000], F8[[7] * 2000], _generator())
    assert exists.all()
    assert rows.unique().tolist() == [0, 1, 2, 3, 4, 5, 6]
    _, exists = _draw_stranger(torch.tensor([1, 1, 2]), torch.tensor([1]), torch.tensor([2]), _generator())
    assert not exists.any()


def test_a_switched_triplet_attracts_nothing():
    switched = Triplets(torch.tensor([0]), torch.tensor([0]), torch.tensor([1]))
    value, gradient = loops.gradient_of(
        lambda x, y, tuples: QuadrupletLoss(second_margin=-2)(x, y, tuples, generator=_generator()), X, F8, switched
    )
    assert value == pytest.approx(1 - loops.distances(X)[0][1], abs=1e-12)
    assert gradient[:2].norm(dim=1).gt(0).all()


def test_edges():
    loops.check_edges(QuadrupletLoss())


def test_a_batch_of_hundreds_is_counted_exactly():
    generator = _generator()
    labels = torch.randint(60, (120,), generator=generator)
    embeddings = torch.randn(120, 6, generator=generator, dtype=torch.float64)
    z = torch.nn.functional.normalize(embeddings)
    d = torch.cdist(z, z)
    terms = []
    for a, p in loops.positive_pairs(labels):
        outside = labels != labels[a]
        apart = outside.unsqueeze(1) & outside & (labels.unsqueeze(1) != labels)
        terms.append((d[a, p] - d[apart] + 0.5).relu())
    second = torch.cat(terms).mean().item()
    loss = QuadrupletLoss(margin=-2)(embeddings, labels)
    assert loss.item() == pytest.approx(second, abs=1e-9)


def test_the_code_of_roth_needs_a_miner():
    with pytest.raises(InputError, match=r"quadruplet\.fourth = 'roth_code' draws from mined triplets: give a miner"):
        QuadrupletLoss(fourth="roth_code")(X, F8)
