"""`import fairground as fg`: everything by name, nothing before it is named."""

import inspect
import json
from pathlib import Path

import pytest

import fairground as fg
from fairground.spec import catalogue
from tests.patience import python

LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)))"
#: packages that take long to import
HEAVY = ("torch", "numpy", "scipy", "matplotlib", "rich", "jinja2", "optuna", "numba", "PIL", "pydantic")


def test_importing_the_package_imports_nothing_else() -> None:
    bare, with_package = (set(json.loads(python("-c", words + LOADED).stdout)) for words in ("", "import fairground; "))
    # Nothing of the package but itself, and of the rest what a bare interpreter may happen not to have loaded.
    assert {name for name in with_package - bare if name.startswith("fairground")} == {"fairground"}
    assert not with_package & set(HEAVY)
    assert len(with_package - bare) < 30


def test_the_help_of_the_command_line_imports_nothing_heavy() -> None:
    program = "import sys; sys.argv = ['fairground', '--help']\nfrom fairground.commands.main import main\n"
    program += "try: main()\nexcept SystemExit: pass\nprint(); " + LOADED
    loaded = set(json.loads(python("-c", program).stdout.splitlines()[-1]))
    assert not loaded & set(HEAVY)


def test_every_name_is_listed_and_found() -> None:
    assert set(dir(fg)) == set(fg.__all__)
    for name in fg.__all__:
        found = getattr(fg, name)
        assert name == "__version__" or callable(found) or inspect.ismodule(found), name
    assert {name for name in fg.__all__ if inspect.ismodule(getattr(fg, name))} == {*catalogue.ROOMS, "distributed"}
    wanted = {"train", "study", "compare", "compare_values", "report", "runs", "evaluate", "load_model", "recommend"}
    assert wanted <= set(fg.__all__)


def test_no_module_of_the_rooms_for_text_and_numbers_imports_torch() -> None:
    package = Path(fg.__file__).parent
    rooms = ("errors", "spec", "records", "papers", "comparison", "studies", "reporting")
    paths = [path.relative_to(package.parent).with_suffix("") for path in sorted(package.rglob("*.py"))]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths if path.parts[1] in rooms]
    assert {"fairground.records.store", "fairground.reporting.page"} <= set(names)
    loaded = json.loads(python("-c", "".join(f"import {name}\n" for name in names) + LOADED).stdout)
    assert not [name for name in loaded if name.partition(".")[0] == "torch"]


@pytest.mark.parametrize("room", catalogue.ROOMS)
def test_a_room_lists_what_it_offers(room: str) -> None:
    module = getattr(fg, room)
    assert dir(module) == sorted(module.__all__)
    assert set(module.__all__) == {catalogue.find(room, name).__name__ for name in catalogue.list_room(room)}
    names: dict[str, object] = {}
    exec(f"from fairground.{room} import *", names)
    assert set(module.__all__) <= set(names)


def test_a_name_nobody_knows_is_refused_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"'fairground' has no attribute 'trian'\. Did you mean 'train'\?"):
        _ = fg.trian  # type: ignore[attr-defined]


def test_verbs_say_what_they_do() -> None:
    for name in fg._VERBS:
        function = getattr(fg, name)
        assert inspect.getdoc(function), name
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.annotation is not parameter.empty, (name, parameter)
