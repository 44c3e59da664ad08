"""Search ranges read from source must be those the classes have."""

import pytest

from fairground import catalogue
from fairground.spec.tunable import has_weights, tunable_of

PARTS = [(room, name) for room in ("losses", "miners", "regularisers") for name in catalogue.list_room(room)]


@pytest.mark.parametrize(("room", "name"), PARTS)
def test_ranges_are_read_as_the_class_has_them(room, name):
    assert dict(tunable_of(room, name)) == dict(getattr(catalogue.find(room, name), "tunable", {}))


@pytest.mark.parametrize("name", catalogue.list_room("losses"))
def test_a_loss_has_weights_exactly_when_it_has_parameters(name):
    cls = catalogue.find("losses", name)
    import inspect

    facts = {"n_classes": 5, "embedding_dim": 4}
    taken = {key: value for key, value in facts.items() if key in inspect.signature(cls).parameters}
    loss = cls(**taken)
    assert has_weights(name) == any(parameter.requires_grad for parameter in loss.parameters())


def test_an_outsiders_part_has_no_ranges_to_read():
    assert tunable_of("losses", "my_lab.loss:MyLoss") == {}
    assert not has_weights("my_lab.loss:MyLoss")
