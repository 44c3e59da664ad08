"""A copy of the workshop for every test that works in it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.commands import Treated, carry_out
from tests.docs.workshop import shared_workshop

Worker = Callable[[Treated], str]
#: output of each line, so that a line on several pages is run once
_TOLD: dict[tuple[str, ...], str] = {}


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    # Each process of pytest-xdist has a folder of its own below one that they share.
    return shared_workshop(base.parent if base.name.startswith("popen-") else base)


@pytest.fixture
def place(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to work and write in, which is the working directory."""
    shutil.copytree(workshop / "runs", tmp_path / "runs")
    shutil.copytree(workshop / "study", tmp_path / "study")
    monkeypatch.delenv("FAIRGROUND_HOME", raising=False)
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path / "runs")
    return tmp_path


@pytest.fixture
def work(workshop: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """Run a line; the run names on the pages are replaced by those of the workshop."""
    names = json.loads((workshop / "names.json").read_text())

    def carry(treated: Treated) -> str:
        if treated.kind == "other":
            return carry_out(treated)
        words = [names.get(word, word) if word else word for word in treated.words]
        # The study that was made here is a small one.
        if words[0] == "evaluate":
            words = ["tiny" if word == "laptop/mlrc" else word for word in words]
        monkeypatch.chdir(place / ("study" if "tiny" in words else "runs"))
        done = tuple(words)
        if done not in _TOLD:
            _TOLD[done] = carry_out(Treated(line=treated.line, kind=treated.kind, words=done))
        return _TOLD[done]

    return carry
