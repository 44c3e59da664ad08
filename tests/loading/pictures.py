"""Image files of every kind, made for tests."""

from pathlib import Path

import numpy as np
from PIL import Image


def photo(height: int, width: int, seed: int = 0) -> Image.Image:
    """Return a smooth picture that survives JPEG well, different for each seed."""
    small = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


def photo_files(root: Path, sizes: list[tuple[int, int]], suffix: str = ".jpg") -> list[Path]:
    """Write one photograph of each (height, width) and return their paths."""
    root.mkdir(parents=True, exist_ok=True)
    paths = [root / f"{number:03d}{suffix}" for number in range(len(sizes))]
    for number, (path, (height, width)) in enumerate(zip(paths, sizes, strict=True)):
        photo(height, width, seed=number).save(path, quality=95)
    return paths
