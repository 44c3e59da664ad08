"""Matryoshka: prefixes of every loss, the weights they share or own, and the memory in front of it."""

import pytest
import torch

import fairground as fg
from fairground.contracts.loss import Pairs, Triplets
from fairground.errors import InputError
from fairground.losses import ContrastiveLoss, CrossBatchMemoryLoss, TripletLoss
from fairground.spec import find, list_room, load_run, parse_overrides
from tests.losses import oracles
from tests.losses.fixtures import F8, F8B, T8B, X, build, gradient_of, on_fixture

EVERY = [name for name in list_room("losses") if name not in ("matryoshka", "weighted_sum")]


def seeded_build(name, **settings):
    torch.manual_seed(0)
    return build(name, **settings).double().eval()


def shared(name):
    try:
        return seeded_build("matryoshka", loss=name, dimensions=[4])
    except InputError:
        return None


@pytest.mark.parametrize("name", EVERY)
def test_one_dimension_is_the_loss_itself_bit_for_bit(name):
    wrapped, plain = shared(name), seeded_build(name)
    if wrapped is None:
        wrapped = seeded_build("matryoshka", loss=name, dimensions=[4], class_weights="own")
    for tuples in (None, *([T8B] if plain.accepts else [])):
        (value, gradient), (expected, its_gradient) = (gradient_of(loss, X, F8B, tuples) for loss in (wrapped, plain))
        assert value == expected
        assert torch.equal(gradient, its_gradient)


@pytest.mark.parametrize("name", EVERY)
def test_it_is_the_weighted_sum_of_the_loss_on_its_prefixes(name):
    settings = {"loss": name, "dimensions": [4, 2], "weights": [0.5, 2.0]}
    wrapped = seeded_build("matryoshka", **settings, class_weights="own")
    parts = [loss(X[:, :m], F8B, generator=_seeded()) for loss, m in zip(wrapped.losses, (4, 2), strict=True)]
    if not wrapped.is_random:
        value = wrapped(X, F8B, generator=_seeded()).item()
        assert value == pytest.approx((0.5 * parts[0] + 2 * parts[1]).item())
    if shared(name) is None or wrapped.is_random:
        return
    wrapped, narrow = seeded_build("matryoshka", **settings), build(name, embedding_dim=2).double().eval()
    whole = wrapped.losses[0]
    for weights, cut in zip(whole.parameters(), narrow.parameters(), strict=True):
        cut.data.copy_(weights if weights.shape == cut.shape else weights[..., :2])
    expected = 0.5 * whole(X, F8B) + 2 * narrow(X[:, :2], F8B)
    assert wrapped(X, F8B).item() == pytest.approx(expected.item())


def test_a_coordinate_learns_from_the_dimensions_that_contain_it():
    _, gradient = gradient_of(on_fixture("matryoshka", dimensions=[1, 3]), X, F8B)
    assert not gradient[:, 3].any()
    assert gradient[:, :3].any(0).all()
    first, third = (on_fixture("matryoshka", dimensions=[m]) for m in (1, 3))
    assert torch.allclose(gradient, gradient_of(first, X, F8B)[1] + gradient_of(third, X, F8B)[1], atol=1e-12)


def test_dimensions_are_halved_down_to_eight():
    assert build("matryoshka", embedding_dim=100).dimensions == (100, 50, 25, 12)
    assert build("matryoshka", embedding_dim=128).dimensions == (128, 64, 32, 16, 8)
    assert build("matryoshka", embedding_dim=4).dimensions == (4,)


def test_the_memory_keeps_whole_embeddings_and_their_prefixes_are_compared():
    settings = {"loss": "contrastive", "dimensions": [4, 2]}
    memory = build("cross_batch_memory", loss="matryoshka", settings=settings, size=8).double()
    parts = [build("cross_batch_memory", embedding_dim=m, size=8).double() for m in (4, 2)]
    for rows in (slice(0, 5), slice(3, 8)):
        expected = sum(part(X[rows, :m], F8B[rows]).item() for part, m in zip(parts, (4, 2), strict=True))
        assert memory(X[rows], F8B[rows]).item() == pytest.approx(expected)


def _seeded():
    return torch.Generator().manual_seed(1)


EMBEDDINGS = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
LABELS = torch.tensor([0, 0, 1, 1])


def test_by_hand():
    # Similarities: positive pairs 0.6 and 0; negative ones 0, -1, 0.8, -0.6. Distances are sqrt(2 - 2 s).
    contrastive = fg.losses.ContrastiveLoss(negative_margin=1.0)
    hinge = 1 - (2 - 2 * 0.8) ** 0.5
    distances = [(2 - 2 * 0.6) ** 0.5, 2**0.5]
    total = fg.losses.WeightedSumLoss(losses=[contrastive, fg.losses.TripletLoss(margin=0.0)], weights=[2.0, 0.5])
    triplets = Triplets(torch.tensor([2, 0]), torch.tensor([3, 1]), torch.tensor([1, 2]))
    # Of two triplets only the first is violated: sqrt(2) against the distance of 0.8.
    violated = distances[1] - (2 - 2 * 0.8) ** 0.5
    mined = fg.losses.TripletLoss(margin=0.0)(EMBEDDINGS, LABELS, triplets)
    assert float(mined) == pytest.approx(violated)
    pairs = contrastive(EMBEDDINGS, LABELS, triplets)
    assert float(total(EMBEDDINGS, LABELS, triplets)) == pytest.approx(2 * float(pairs) + 0.5 * violated)
    plain = torch.nn.CrossEntropyLoss()  # a module of someone else: embeddings are its logits
    whole = fg.losses.WeightedSumLoss(losses=[contrastive, plain], weights=[3.0, 2.0])(EMBEDDINGS, LABELS)
    assert float(whole) == pytest.approx(3 * (sum(distances) / 2 + hinge) + 2 * float(plain(EMBEDDINGS, LABELS)))


def test_tuples_go_to_the_losses_that_take_them_and_gradients_add_up():
    torch.manual_seed(0)
    names, weights = ("contrastive", "proxy_anchor"), (0.3, 0.7)
    total = fg.losses.WeightedSumLoss(n_classes=2, embedding_dim=2, losses=names, weights=weights).double()
    first, second = total.losses
    assert set(total.accepts) == set(first.accepts)
    pairs = Pairs(*torch.tensor([[0], [1], [1], [2]]))
    x = EMBEDDINGS.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(total(x, LABELS, pairs), x)
    separate = [torch.autograd.grad(loss, x)[0] for loss in (first(x, LABELS, pairs), second(x, LABELS))]
    assert torch.allclose(gradient, 0.3 * separate[0] + 0.7 * separate[1])
    assert len(list(total.parameters())) == 1


def test_a_loss_with_a_miner_of_its_own_sees_its_tuples():
    names = ["triplet", "contrastive"]
    total = fg.losses.WeightedSumLoss(losses=names, miners={"triplet": "semihard"}, settings={"triplet.margin": 1.0})
    pairs = Pairs(*torch.tensor([[0], [1], [1], [2]]))
    triplets = fg.miners.SemihardMiner()(EMBEDDINGS, LABELS, generator=torch.Generator().manual_seed(4))
    expected = fg.losses.TripletLoss(margin=1.0)(EMBEDDINGS, LABELS, triplets)
    expected = expected + fg.losses.ContrastiveLoss()(EMBEDDINGS, LABELS, pairs)
    found = total(EMBEDDINGS, LABELS, pairs, generator=torch.Generator().manual_seed(4))
    assert float(found) == pytest.approx(float(expected))
    assert total.is_random


def test_settings_are_written_as_on_the_command_line():
    words = ["loss=weighted_sum", 'loss.losses=["triplet", "arc_face"]', "loss.weights=[1, 0.5]"]
    words += ["loss.settings.triplet.margin=0.25", "loss.miners.triplet=semihard"]
    spec = load_run(overrides=parse_overrides(words))
    assert spec.loss.settings["settings"] == {"triplet.margin": 0.25}
    built = fg.losses.WeightedSumLoss(n_classes=3, embedding_dim=4, **spec.loss.settings)
    assert built.losses[0].margin == 0.25
    assert [type(miner).__name__ for miner in built.miners] == ["SemihardMiner", "NoneType"]


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
