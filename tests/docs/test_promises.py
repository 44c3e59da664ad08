"""Every promise of the pages about records, scale, studies and watching names the tests that keep it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("records", "scale", "studies", "watching")
HEADING = "## Which test keeps which promise\n"


def rows_of(page: str) -> list[list[str]]:
    table = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").partition(HEADING)[2]
    lines = [line.strip() for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test")}


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_names_a_test_that_is_there(page):
    rows = rows_of(page)
    assert len(rows) >= 10
    for promise, kept_by in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", kept_by)
        assert named, promise
        assert kept_by == ", ".join(f"`{path}::{name}`" for path, name in named), promise
        assert [name for path, name in named if name not in names_in(ROOT / path)] == [], promise
