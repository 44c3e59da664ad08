"""The pages and figures of docs/results, made anew from their records, are the files that are there, byte for byte.

So are the findings in the README. `make results` writes them anew.
"""

from pathlib import Path

from studies.results.build import build
from studies.results.findings import with_findings

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def files_in(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_pages_of_results_and_the_findings_of_the_readme_are_what_their_records_say(tmp_path: Path) -> None:
    pages = build(RESULTS / "records", tmp_path)
    fresh = files_in(tmp_path)
    kept = {name: held for name, held in files_in(RESULTS).items() if not name.startswith("records/")}
    assert set(fresh) == set(kept)
    assert [name for name in kept if fresh[name] != kept[name]] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_findings(readme, pages) == readme, "run `make results`"
