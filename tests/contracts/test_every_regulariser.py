"""What every regulariser owes: harmless hooks, repeatable draws, finite penalties, and a docstring that explains."""

import pytest
import torch

from fairground.contracts import Mixing, Triplets
from fairground.losses.soft_triple import SoftTripleLoss
from fairground.spec.catalogue import find, list_room
from tests.losses.fixtures import F8B, T8B, X
from tests.miners.oracle import seeded

REGULARISERS = {name: find("regularisers", name)() for name in list_room("regularisers")}
each_regulariser = pytest.mark.parametrize("regulariser", REGULARISERS.values(), ids=REGULARISERS)
#: a loss with everything a penalty may look at
LOSS = SoftTripleLoss(n_classes=4, embedding_dim=4)


@each_regulariser
def test_changes_something(regulariser):
    is_mixing = regulariser.plan_mixing(8, 3, generator=seeded()) is not None
    has_penalty = regulariser.penalty(X, F8B, LOSS) is not None
    assert is_mixing or has_penalty or regulariser.changes_tuples


@each_regulariser
def test_the_same_seed_gives_the_same_changes(regulariser):
    plans = [regulariser.plan_mixing(8, 3, generator=seeded(3)) for _ in range(2)]
    if plans[0] is not None:
        assert isinstance(plans[0], Mixing)
        assert plans[0].weight == plans[1].weight
        assert 0 <= plans[0].weight <= 1
        assert 0 <= plans[0].stage < 3
        assert torch.equal(plans[0].partner, plans[1].partner)
    first, second = (regulariser.change_tuples(T8B, F8B, generator=seeded(3)) for _ in range(2))
    assert all(torch.equal(left, right) for left, right in zip(first, second, strict=True))


@each_regulariser
def test_tuples_stay_tuples_of_the_batch(regulariser):
    for seed in range(10):
        changed = regulariser.change_tuples(T8B, F8B, generator=seeded(seed))
        assert isinstance(changed, Triplets)
        assert changed.size == T8B.size
        assert all(int(part.min()) >= 0 and int(part.max()) < 8 for part in changed)
        assert regulariser.changes_tuples or all(
            torch.equal(left, right) for left, right in zip(changed, T8B, strict=True)
        )


@each_regulariser
def test_no_tuples_stay_no_tuples(regulariser):
    nothing = torch.empty(0, dtype=torch.long)
    assert regulariser.change_tuples(Triplets(nothing, nothing, nothing), F8B, generator=seeded()).size == 0


@each_regulariser
@pytest.mark.parametrize("embeddings", [X, torch.zeros(8, 4), torch.ones(8, 4)], ids=["fixture", "zero", "identical"])
def test_penalties_are_finite_numbers_with_finite_gradients(regulariser, embeddings):
    embeddings = embeddings.clone().requires_grad_(True)
    penalty = regulariser.penalty(embeddings, F8B, LOSS)
    if penalty is not None:
        assert penalty.ndim == 0
        assert bool(penalty.isfinite())
        assert float(penalty.detach()) >= 0
        LOSS.zero_grad()
        penalty.backward()
        gradients = [found.grad for found in (embeddings, LOSS.centres) if found.grad is not None]
        assert gradients
        assert all(bool(gradient.isfinite().all()) for gradient in gradients)
