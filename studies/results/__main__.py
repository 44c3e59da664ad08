"""Write every page of results from the exported records, and the README's findings: `python -m studies.results`.

With a FOLDER the pages go there, and the README is left alone.
"""

import sys
from pathlib import Path

from studies.results.build import build
from studies.results.findings import write_findings

RECORDS = Path("docs/results/records")

if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results")
    pages = build(RECORDS, out)
    for name in ("README", *(page.name for page in pages)):
        print(out / f"{name}.md")
    if len(sys.argv) == 1:
        write_findings(Path("README.md"), pages)
