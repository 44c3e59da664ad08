import inspect

import pytest

from fairground.errors import InputError
from fairground.spec import catalogue
from fairground.spec.declarations import settings_of
from fairground.spec.settings import SUPPLIED

COMPONENTS = [(room, name) for room in catalogue.ROOMS for name in catalogue.list_room(room)]


@pytest.mark.parametrize(("room", "name"), COMPONENTS)
def test_a_file_holds_the_class_its_name_promises(room: str, name: str) -> None:
    found = catalogue.find(room, name)
    assert found.__name__.lower() == catalogue.class_name(room, name).lower()
    assert getattr(__import__(f"fairground.{room}", fromlist=["x"]), found.__name__) is found


@pytest.mark.parametrize(("room", "name"), COMPONENTS)
def test_what_the_source_says_of_settings_is_what_the_constructor_takes(room: str, name: str) -> None:
    parameters = inspect.signature(catalogue.find(room, name)).parameters
    settings = settings_of(room, name)
    assert set(settings) == set(parameters) - SUPPLIED.get(room, frozenset())
    for key, setting in settings.items():
        default = parameters[key].default
        assert setting.is_required == (default is inspect.Parameter.empty)
        if not setting.is_required:
            assert setting.default == (list(default) if isinstance(default, tuple) else default)


@pytest.mark.parametrize(("room", "name"), COMPONENTS)
def test_every_component_says_what_it_is_in_its_first_line(room: str, name: str) -> None:
    line = catalogue.list_room(room)[name]
    assert len(line) > 10
    assert line.endswith((".", ":"))


def test_a_mistyped_component_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"no loss 'triplett'\. Did you mean 'triplet'\?"):
        catalogue.find("losses", "triplett")


def test_names_people_know_are_understood() -> None:
    for known in ("ArcFace", "arcface", "ArcFaceLoss", "arc_face"):
        assert catalogue.canonical("losses", known) == "arc_face"


def test_a_dotted_path_reaches_an_outside_class() -> None:
    from collections import OrderedDict

    assert catalogue.find("losses", "collections:OrderedDict") is OrderedDict


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("no_such_package.part:Thing", "no_such_package is not installed"),
        ("collections:OrderedDictt", "Did you mean 'OrderedDict'"),
        ("collections:abc", "is not a class"),
        ("os.path:__import__('x')", "is not a dotted path"),
    ],
)
def test_a_bad_dotted_path_is_refused(path: str, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        catalogue.find("losses", path)
    assert sentence in str(refusal.value)


def test_an_unknown_room_is_refused() -> None:
    with pytest.raises(InputError, match=r"no room 'lossess'\. Did you mean 'losses'"):
        catalogue.list_room("lossess")


def test_an_unknown_name_in_a_room_is_an_attribute_error() -> None:
    import fairground.losses

    with pytest.raises(AttributeError, match="ArcFaceeLoss"):
        _ = fairground.losses.ArcFaceeLoss
