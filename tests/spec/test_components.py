"""Components: found by name, listed without importing them, and read as their classes declare themselves."""

import inspect
from collections import OrderedDict

import pytest

from fairground.contracts.metric import Metric
from fairground.errors import InputError
from fairground.spec import SUPPLIED, catalogue, check_settings, declared, reference_of, settings_of
from tests.patience import python

COMPONENTS = [(room, name) for room in catalogue.ROOMS for name in catalogue.list_room(room)]


@pytest.mark.parametrize(("room", "name"), COMPONENTS)
def test_a_file_has_the_class_and_the_settings_that_are_read_from_it(room: str, name: str) -> None:
    found = catalogue.find(room, name)
    assert found.__name__.lower() == catalogue.class_name(room, name).lower()
    assert getattr(__import__(f"fairground.{room}", fromlist=["x"]), found.__name__) is found
    line = catalogue.list_room(room)[name]
    assert len(line) > 10
    assert line.endswith((".", ":"))
    parameters, settings = inspect.signature(found).parameters, settings_of(room, name)
    assert set(settings) == set(parameters) - SUPPLIED.get(room, frozenset())
    for key, setting in settings.items():
        default = parameters[key].default
        assert setting.is_required == (default is inspect.Parameter.empty)
        if not setting.is_required:
            assert setting.default == (list(default) if isinstance(default, tuple) else default)
    check_settings(room, name, {key: setting.default for key, setting in settings.items()})


def test_names_people_know_and_dotted_paths_are_understood() -> None:
    for known in ("ArcFace", "arcface", "ArcFaceLoss", "arc_face"):
        assert catalogue.canonical("losses", known) == "arc_face"
    assert catalogue.find("losses", "collections:OrderedDict") is OrderedDict


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("triplett", "no loss 'triplett'. Did you mean 'triplet'?"),
        ("no_such_package.part:Thing", "no_such_package is not installed"),
        ("collections:OrderedDictt", "Did you mean 'OrderedDict'"),
        ("collections:abc", "is not a class"),
        ("os.path:__import__('x')", "is not a dotted path"),
    ],
)
def test_what_is_not_there_is_refused(path: str, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        catalogue.find("losses", path)
    assert sentence in str(refusal.value)


PUBLISHED = [part for part in COMPONENTS if part[0] in ("losses", "miners", "samplers", "regularisers")]


@pytest.mark.parametrize(("room", "name"), PUBLISHED)
def test_ranges_are_read_as_the_class_has_them_and_a_paper_with_its_place_and_year(room, name):
    assert dict(declared(room, name, "tunable", {})) == dict(getattr(catalogue.find(room, name), "tunable", {}))
    paper = (inspect.getmodule(catalogue.find(room, name)).__doc__ or "").partition("\nPaper\n")[2]
    reference = reference_of(room, name)
    if paper.strip().startswith("None"):
        assert reference is None
    else:
        assert all(reference)
        assert 1990 <= reference.year <= 2100
        written = f'{reference.authors}, "{reference.title}", {reference.venue} {reference.year}'
        assert " ".join(paper.split()).startswith(written)


@pytest.mark.parametrize("name", catalogue.list_room("losses"))
def test_a_loss_is_learnable_exactly_when_it_has_parameters(name):
    kind = catalogue.find("losses", name)
    supplied = {"n_classes": 5, "embedding_dim": 4}
    taken = {key: value for key, value in supplied.items() if key in inspect.signature(kind).parameters}
    has_weights = any(parameter.requires_grad for parameter in kind(**taken).parameters())
    assert declared("losses", name, "is_learnable", False) == has_weights


@pytest.mark.parametrize("name", catalogue.list_room("metrics"))
def test_metrics_are_read_as_the_class_has_them(name):
    kind = catalogue.find("metrics", name)
    for attribute in ("title", "higher_is_better", "is_share", "aliases", "argument"):
        assert declared("metrics", name, attribute, getattr(Metric, attribute)) == getattr(kind, attribute)


@pytest.mark.parametrize("name", ["my_lab.loss:MyLoss", "no_such_loss", "../cli/main", "x" * 10_000, ""])
def test_of_a_part_that_is_not_ours_nothing_is_read(name):
    assert declared("losses", name, "tunable", {}) == {}
    assert reference_of("losses", name) is None
    assert not declared("losses", name, "is_learnable", False)


@pytest.mark.parametrize(
    ("room", "name", "settings"),
    [
        ("losses", "triplet", {"margin": 4.5, "power": 2}),
        ("losses", "arc_face", {"margin": 181.0, "margin_unit": "degrees"}),
        ("losses", "ranked_list", {"margin": 1.5, "alpha": 1.2}),
        ("miners", "semihard", {"margin": -1.0}),
        ("miners", "rho_distance", {"lo": 1.0, "hi": 0.5}),
    ],
)
def test_a_value_that_the_constructor_refuses_is_refused_from_its_source_in_the_same_sentence(room, name, settings):
    known = settings_of(room, name)
    assert set(settings) <= set(known)
    complete = {key: setting.default for key, setting in known.items()} | settings
    with pytest.raises(InputError) as read:
        check_settings(room, name, complete)
    kind = catalogue.find(room, name)
    supplied = {"n_classes": 5, "embedding_dim": 4}
    taken = {key: value for key, value in supplied.items() if key in inspect.signature(kind).parameters}
    with pytest.raises(InputError) as built:
        kind(**complete, **taken)
    assert str(read.value) == str(built.value)


def test_a_value_out_of_range_is_refused_before_torch_is_imported():
    program = (
        "import sys\nfrom fairground.errors import InputError\nfrom fairground.spec.load_run_spec import load_run\n"
        "try:\n    load_run(overrides={'loss': 'triplet', 'loss.margin': 9})\n"
        "except InputError as error:\n    print(error, 'torch' in sys.modules)"
    )
    assert python("-c", program).stdout.strip().endswith("got 9.0 False")
