"""What the README shows must run."""

import re
import tomllib
from pathlib import Path

import pytest

from fairground.spec.load import load_run

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_every_python_block_runs(number: int) -> None:
    exec(compile(blocks("python")[number], f"README block {number}", "exec"), {})


def test_every_spec_is_one(tmp_path: Path) -> None:
    for block in blocks("toml"):
        tomllib.loads(block)
        (tmp_path / "run.toml").write_text(block)
        load_run(file=tmp_path / "run.toml")


def test_every_train_line_is_a_spec() -> None:
    lines = [line.partition("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    trains = [line[2:] for line in lines if line[:2] == ["fairground", "train"] and "--config" not in line]
    assert len(trains) > 1
    for words in trains:
        protocol = words[1] if words[0] == "--protocol" else None
        load_run(protocol=protocol, overrides=words[2:] if protocol else words)


def test_every_page_named_is_there() -> None:
    root = Path(__file__).parents[1]
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (root / target).exists(), target
