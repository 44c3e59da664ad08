"""The table of sizes counts what it says, and is printed for the package as it stands."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import house  # noqa: E402

FILES = {
    "src/fairground/__init__.py": "",
    "src/fairground/errors.py": "class X(Exception):\n    pass\n",
    "src/fairground/study/__init__.py": "from fairground.study import a\n",
    "src/fairground/study/a.py": "from fairground.errors import (\n X,\n)\n\n\ndef f():\n  import fairground.study.b\n",
    "src/fairground/study/b.py": "from ..errors import X\nfrom fairground.losses.triplet import Loss\n",
    "src/fairground/losses/triplet.py": "import os; import sys\n",
    "src/fairground/gone/__pycache__/old.pyc": "",
    "tests/test_plan.py": "\n\n\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_lines_files_rooms_and_imports_are_counted(checkout: Path) -> None:
    # 13 lines, 8 of which import. `study.a` and `study.b` have one importer, `errors` two; a loss is not counted.
    assert [measure.now for measure in house.count(checkout)] == [13, 6, 2, pytest.approx(100 * 8 / 13), 2, 3]


def test_the_table_of_this_package_is_printed() -> None:
    def script(*words: str) -> str:
        command = [sys.executable, str(ROOT / "scripts" / "house.py"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    table = script().splitlines()
    assert table[:2] == ["| measure | now | of it, methods since 2020 | without | goal |", "|-|-|-|-|-|"]
    assert [row.split(" ≤ ")[1] for row in table[2:]] == ["40,000 |", "400 |", "30 |", "6 % |", "40 |", "28,000 |"]
    assert [row["now"] for row in json.loads(script("--json"))] == [one.now for one in house.count(ROOT)]


def test_files_of_methods_since_2020_are_where_the_list_says(checkout: Path) -> None:
    for folder, names in house.SINCE_2020.items():
        assert len(house.files_since_2020(ROOT, folder)) == len(names.split())
    assert house.lines_since_2020(checkout, "tests") == 0
    assert house.Measure("lines", 1_200, 900, since_2020=250).row() == "| lines | 1,200 | 250 | 950 | ≤ 900 |"
