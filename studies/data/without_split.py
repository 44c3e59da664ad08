"""Write features without their halves, so that `split=random_halves split.seed=N` draws the test classes of all.

python studies/data/without_split.py FEATURES/cub200.npz     writes FEATURES/cub200_all.npz
"""

import sys
from pathlib import Path

import numpy as np

from fairground.records.arrays import write_arrays


def main() -> None:
    """Write the file of every file named."""
    for name in map(Path, sys.argv[1:]):
        with np.load(name, allow_pickle=False) as held:
            arrays = {key: held[key] for key in held.files if key != "split"}
        out = name.with_name(f"{name.stem}_all.npz")
        write_arrays(out, arrays)
        print(out)


if __name__ == "__main__":
    main()
