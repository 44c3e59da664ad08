"""The pages and figures of docs/results, made anew from their records, are the files that are there, byte for byte.

`make results` writes them anew.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def files_in(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_pages_of_results_are_what_their_records_say(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "studies.results", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    fresh = files_in(tmp_path)
    kept = {name: held for name, held in files_in(RESULTS).items() if not name.startswith("records/")}
    assert set(fresh) == set(kept)
    assert [name for name in kept if fresh[name] != kept[name]] == []


if __name__ == "__main__":
    subprocess.run([sys.executable, "-m", "studies.results"], cwd=ROOT, check=True)
