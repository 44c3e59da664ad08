"""An outside class is looked at before its module runs, as far as its source says."""

import sys

import pytest

from fairground.errors import InputError
from fairground.spec.catalogue import find

SOURCE = """
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
import torch
from torch import nn
if True:
    class Hidden(nn.Module): pass
class Good(nn.Module): pass
class Bare: pass
def function(): pass
alias = Good
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "losses.py").write_text(SOURCE)
    (tmp_path / "lab" / "lazy.py").write_text("def __getattr__(name):\n    raise AttributeError(name)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "lab" / "losses.ran"
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Nothing", "has no 'Nothing', by its source; it was not imported"),
        ("function", "is not a class; its module was not imported"),
        ("Bare", "derives from nothing. Its module was not imported"),
    ],
)
def test_what_cannot_be_a_part_is_refused_before_its_module_runs(module, name, sentence):
    with pytest.raises(InputError, match=sentence):
        find("losses", f"lab.losses:{name}")
    assert not module.exists()
    assert "lab" not in sys.modules


@pytest.mark.parametrize("name", ["Good", "Hidden", "alias"])
def test_what_may_be_one_is_imported(module, name):
    assert find("losses", f"lab.losses:{name}").__name__ in ("Good", "Hidden")
    assert module.exists()


def test_a_module_that_does_not_say_decides_itself(module):
    with pytest.raises(InputError, match=r"'lab\.lazy' has no 'Thing'"):
        find("losses", "lab.lazy:Thing")
    with pytest.raises(InputError, match=r"cannot import 'lab\.none'"):
        find("losses", "lab.none:Thing")


def test_the_nearest_name_is_offered(module):
    with pytest.raises(InputError, match=r"Did you mean 'Good'\?"):
        find("losses", "lab.losses:Goood")
