"""Folders as users have them: made small, one trouble each."""

from pathlib import Path

import numpy as np
from PIL import Image

from tests.datasets.pictures import NASTY, class_folders, picture

CLASSES = [f"class {number}" for number in range(10)]


def corrupt(root: Path) -> Path:
    """Three files that cannot be read, and one that is there twice."""
    class_folders(root, CLASSES, per_class=4)
    (root / "class 0" / "0.png").write_bytes(b"")
    whole = (root / "class 1" / "1.png").read_bytes()
    (root / "class 1" / "1.png").write_bytes(whole[: len(whole) // 2])
    (root / "class 2" / "2.png").write_bytes(b"no picture")
    (root / "class 3" / "again.png").write_bytes((root / "class 3" / "0.png").read_bytes())
    return root


def names(root: Path) -> Path:
    """Names that break careless programs."""
    for number, name in enumerate((*NASTY, "new\nline", "=eq", "[brackets]")):
        for image in range(4):
            picture(root / name / f"{image} 'q' \"d\" 😀.png", 10 * number + image)
    return root


def modes(root: Path) -> Path:
    """Every kind of pixel a picture may have."""
    class_folders(root, CLASSES, per_class=4)
    for number in range(10):
        place = root / f"class {number}"
        for seed, (kind, suffix) in enumerate(
            (("CMYK", "jpg"), ("P", "png"), ("RGBA", "png"), ("LA", "png"), ("1", "png"))
        ):
            picture(place / f"{kind}.{suffix}", 1000 + 10 * number + seed, mode=kind)
        Image.fromarray(np.full((16, 20), number * 6000, np.uint16)).save(place / "deep.png")
    return root
