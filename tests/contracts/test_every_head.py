"""What every head owes: embeddings of the width it says, a gradient to every weight, and a state that survives."""

import inspect
import io

import pytest
import torch

from fairground.contracts.trunk_head_transform import Head
from fairground.spec.catalogue import find, list_room

HEADS = list_room("heads")
each_head = pytest.mark.parametrize("name", HEADS)


def build(name: str, *, seed: int = 0) -> Head:
    kind = find("heads", name)
    options = {"embedding_dim": 4} if "embedding_dim" in inspect.signature(kind).parameters else {}
    options |= {"rank": 3} if "rank" in inspect.signature(kind).parameters else {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head: Head = kind(n_features=6, **options)
    if head.needs_labels:
        head.fit_classes(iter(torch.split(features(40), 16)), torch.arange(40) % 8)
    elif head.needs_features:
        head.fit(iter(torch.split(features(40), 16)))
    return head


def features(n: int = 5) -> torch.Tensor:
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(1))


@each_head
def test_embeddings_are_finite_and_as_wide_as_declared(name: str) -> None:
    head = build(name)
    given = features()
    kept = given.clone()
    embeddings = head(given)
    n_features = 6 if head.branch_dims else 0
    assert embeddings.shape == (5, head.embedding_dim + sum(head.branch_dims) + n_features)
    assert head.eval()(given).shape == (5, head.embedding_dim)
    assert bool(embeddings.isfinite().all())
    assert torch.equal(given, kept)


@each_head
def test_a_gradient_reaches_features_and_every_weight(name: str) -> None:
    head = build(name)
    given = features().requires_grad_(True)
    head(given).square().sum().backward()
    assert given.grad is not None
    assert all(weight.grad is not None and bool(weight.grad.isfinite().all()) for weight in head.parameters())


@each_head
def test_state_survives_a_save(name: str) -> None:
    first, second = build(name), build(name, seed=5)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(first(features()), second(features()))
