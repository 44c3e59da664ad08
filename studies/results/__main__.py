"""Write every page of results from the exported records: `python -m studies.results [FOLDER]`."""

import sys
from pathlib import Path

from studies.results.build import build

if __name__ == "__main__":
    for written in build(Path("docs/results/records"), Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results")):
        print(written)
