"""What is read from a component's file must be what its class says."""

import inspect

import pytest

from fairground.contracts.metric import Metric
from fairground.spec import catalogue
from fairground.spec.declarations import declared, is_learnable, reference_of, settings_of, tunable_of
from fairground.spec.reference import Reference

SEARCHED = [(room, name) for room in ("losses", "miners", "regularisers") for name in catalogue.list_room(room)]
PUBLISHED = [
    (room, name) for room in ("losses", "miners", "samplers", "regularisers") for name in catalogue.list_room(room)
]


@pytest.mark.parametrize(("room", "name"), SEARCHED)
def test_ranges_are_read_as_the_class_has_them(room, name):
    assert dict(tunable_of(room, name)) == dict(getattr(catalogue.find(room, name), "tunable", {}))


@pytest.mark.parametrize(("room", "name"), PUBLISHED)
def test_references_are_read_as_the_class_has_them(room, name):
    assert reference_of(room, name) == getattr(catalogue.find(room, name), "reference", None)


@pytest.mark.parametrize(("room", "name"), PUBLISHED)
def test_a_component_with_a_paper_says_where_and_when_it_was_published(room, name):
    paper = (inspect.getmodule(catalogue.find(room, name)).__doc__ or "").partition("\nPaper\n")[2].strip()
    reference = reference_of(room, name)
    assert (reference is None) == paper.startswith("None")
    if reference is not None:
        assert str(reference.year) in paper
        assert reference.authors.split()[0].rstrip(",") in paper


@pytest.mark.parametrize("name", catalogue.list_room("losses"))
def test_a_loss_is_learnable_exactly_when_it_has_parameters(name):
    kind = catalogue.find("losses", name)
    supplied = {"n_classes": 5, "embedding_dim": 4}
    taken = {key: value for key, value in supplied.items() if key in inspect.signature(kind).parameters}
    assert is_learnable(name) == any(parameter.requires_grad for parameter in kind(**taken).parameters())


@pytest.mark.parametrize("name", catalogue.list_room("metrics"))
@pytest.mark.parametrize("attribute", ["title", "higher_is_better", "is_share", "aliases", "argument"])
def test_metrics_are_read_as_the_class_has_them(name, attribute):
    kind = catalogue.find("metrics", name)
    assert declared("metrics", name, attribute, getattr(Metric, attribute)) == getattr(kind, attribute)


@pytest.mark.parametrize("name", ["my_lab.loss:MyLoss", "no_such_loss", "../cli/main", "x" * 10_000, ""])
def test_of_a_part_that_is_not_ours_nothing_is_read(name):
    assert tunable_of("losses", name) == {}
    assert reference_of("losses", name) is None
    assert not is_learnable(name)


def test_what_is_declared_may_be_calculated_with_pi():
    assert tunable_of("losses", "arc_face")["margin"].high == pytest.approx(1.5707963)


def test_a_reference_has_all_four_parts():
    assert reference_of("miners", "distance_weighted") == Reference(
        authors="Wu, Manmatha, Smola and Krähenbühl",
        title="Sampling Matters in Deep Embedding Learning",
        venue="ICCV",
        year=2017,
    )


def test_settings_leave_out_what_training_supplies():
    assert "n_classes" not in settings_of("losses", "arc_face")
