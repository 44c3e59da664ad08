"""Matryoshka: prefixes of every loss, the weights they share or own, and the memory in front of it."""

import pytest
import torch

from fairground.errors import InputError
from fairground.spec import list_room
from tests.losses.fixtures import F8B, T8B, X, build, gradient_of, on_fixture

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
