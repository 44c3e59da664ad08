"""The scripts of `studies/data` import one another by name, as they do when they are run."""

import sys
from pathlib import Path

DATA = Path(__file__).parents[2] / "studies" / "data"
sys.path.insert(0, str(DATA))
