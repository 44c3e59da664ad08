"""Write every page of results from the exported records, and the README's findings: `python -m studies.results`.

With a FOLDER the pages go there, and the README is left alone.
"""

import sys
from pathlib import Path

from studies.results.build import build, pages_of
from studies.results.findings import write_findings

RECORDS = Path("docs/results/records")

if __name__ == "__main__":
    for written in build(RECORDS, Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results")):
        print(written)
    if len(sys.argv) == 1:
        write_findings(Path("README.md"), pages_of(RECORDS))
