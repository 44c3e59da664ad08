import pytest
import torch

from fairground.losses import ContrastiveLoss, CrossBatchMemoryLoss, TripletLoss
from fairground.spec import find, list_room, load_run
from tests.losses import oracles
from tests.losses.fixtures import F8, F8B, X

FACTS = {"n_classes": 4, "embedding_dim": 4}
OTHER = X.flip(0) * 0.7 + 0.3


def _build(**settings):
    return CrossBatchMemoryLoss(**FACTS, **{"size": 32, **settings}).double()


def _wrappable():
    return [name for name in list_room("losses") if find("losses", name).accepts]


def test_value_by_hand():
    memory = CrossBatchMemoryLoss(n_classes=2, embedding_dim=2, settings={"negative_margin": 1.5}, size=4)
    east, north = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 5.0]])
    assert memory(east, torch.tensor([0])).item() == 0
    # One negative pair, a right angle apart: the margin lacks 1.5 - sqrt 2.
    assert memory(north, torch.tensor([1])).item() == pytest.approx(1.5 - 2**0.5, abs=1e-6)
    # Now also a positive pair at distance 0, and the other negative again.
    assert memory(north, torch.tensor([1])).item() == pytest.approx(1.5 - 2**0.5, abs=1e-6)
    # As a member of class 0: one positive at sqrt 2, two negatives at 0.
    assert memory(north, torch.tensor([0])).item() == pytest.approx(2**0.5 + 1.5, abs=1e-6)


@pytest.mark.parametrize("loss", ["contrastive", "triplet"])
def test_agrees_with_a_loop_over_the_pool(loss):
    memory = _build(loss=loss, settings={"margin": 0.2} if loss == "triplet" else {"negative_margin": 1.2})
    memory(OTHER, F8B)
    pool, labels = torch.cat([X, OTHER]), torch.cat([F8, F8B])
    d = oracles.distances(pool / pool.norm(dim=1, keepdim=True))
    tuples = oracles.Tuples(labels)
    # Only the batch, the first eight rows, has anchors.
    tuples.positive, tuples.negative, tuples.triplets = (
        [rows for rows in every if rows[0] < 8] for every in (tuples.positive, tuples.negative, tuples.triplets)
    )
    if loss == "triplet":
        expected = oracles.triplet(tuples, margin=0.2, d=d)
    else:
        expected = oracles.contrastive(tuples, positive_margin=0, negative_margin=1.2, reduction="mean_nz", d=d)
    assert memory(X, F8).item() == pytest.approx(expected, abs=1e-12)


def test_only_the_batch_learns():
    memory = _build()
    first = X.clone().requires_grad_()
    memory(first, F8).backward()
    seen = first.grad.clone()
    second = OTHER.clone().requires_grad_()
    memory(second, F8B).backward()
    assert torch.equal(first.grad, seen)
    assert second.grad.abs().sum() > 0


# Places are filled round and round; a batch larger than the memory leaves its last rows.
@pytest.mark.parametrize(("n", "kept"), [(2, [5, 1, 2, 3, 4]), (3, [5, 6, 7, 8, 4]), (7, [16, 17, 18, 19, 20])])
def test_the_oldest_make_room(n, kept):
    memory = CrossBatchMemoryLoss(n_classes=30, embedding_dim=1, size=5)
    for step in range(3):
        numbers = torch.arange(step * n, step * n + n)
        memory(numbers.float().unsqueeze(1) + 1, numbers)
    assert memory.memory_labels.tolist() == kept
    assert memory.memory.flatten().tolist() == [label + 1 for label in kept]
    assert memory.filled.item() == 5


def test_evaluation_looks_at_the_memory_and_leaves_it():
    memory = _build()
    memory(OTHER, F8B)
    memory.eval()
    before = memory.state_dict()["memory"].clone()
    value = memory(X, F8).item()
    assert memory(X, F8).item() == value
    assert value != _build()(X, F8).item()
    assert torch.equal(memory.memory, before)


def test_start_waits_and_fills_meanwhile():
    memory = _build(start=2)
    alone = ContrastiveLoss()
    assert memory(X, F8).item() == alone(X, F8).item()
    assert memory(OTHER, F8B).item() == alone(OTHER, F8B).item()
    assert memory.filled.item() == 16
    assert memory(X + 0.1, F8).item() != alone(X + 0.1, F8).item()


@pytest.mark.parametrize("miner", ["distance_weighted", "hardest", "semihard"])
def test_a_miner_chooses_triplets_of_the_pool(miner):
    memory = _build(loss="triplet", miner=miner)
    for batch, labels in ((OTHER, F8B), (X, F8)):
        leaf = batch.clone().requires_grad_()
        value = memory(leaf, labels, generator=torch.Generator().manual_seed(1))
        value.backward()
        assert value.isfinite()
        assert leaf.grad.isfinite().all()


# So wide an epsilon keeps every pair.
@pytest.mark.parametrize(
    ("loss", "miner", "settings"),
    [("triplet", "all_tuples", {}), ("contrastive", "multi_similarity", {"epsilon": 2.0})],
)
def test_a_miner_of_everything_is_no_miner(loss, miner, settings):
    values = []
    for memory in (_build(loss=loss), _build(loss=loss, miner=miner, miner_settings=settings)):
        memory(OTHER, F8B)
        values.append(memory(X, F8).item())
    assert values[0] == pytest.approx(values[1], abs=1e-12)


@pytest.mark.parametrize("name", _wrappable())
def test_every_loss_on_tuples_can_be_wrapped(name):
    memory = CrossBatchMemoryLoss(**FACTS, loss=name, size=12)
    generator = torch.Generator().manual_seed(0)
    for batch, labels in ((X, F8), (OTHER, F8B), (X + 0.5, F8), (X[:1], F8[:1])):
        leaf = batch.float().requires_grad_()
        value = memory(leaf, labels, generator=generator)
        value.backward()
        assert value.isfinite()
        assert leaf.grad.isfinite().all()
    assert memory.on_sphere == memory.loss.on_sphere


def test_a_spec_can_say_it():
    words = {"loss": "cross_batch_memory", "loss.loss": "triplet", "loss.settings.margin": 0.3, "loss.size": 64}
    spec = load_run(overrides=words)
    memory = CrossBatchMemoryLoss(**FACTS, **spec.loss.settings)
    assert isinstance(memory.loss, TripletLoss)
    assert memory.loss.margin == 0.3
    assert memory.size == 64
