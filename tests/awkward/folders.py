"""Folders as users have them: made small, one trouble each."""

import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def picture(path: Path, *, hue: int = 0, mode: str = "RGB") -> None:
    """Write a small picture; pictures of one hue look alike."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(zlib.crc32(path.name.encode())).integers(0, 60, (16, 16, 3))
    colour = np.random.default_rng(hue).integers(0, 190, 3)
    Image.fromarray((noise + colour).astype(np.uint8)).convert(mode).save(path)


def class_folders(root: Path, *, n_classes: int = 10, per_class: int = 4) -> Path:
    """Write a folder of class folders with nothing wrong."""
    for number in range(n_classes):
        for image in range(per_class):
            picture(root / f"class {number}" / f"{image}.png", hue=number)
    return root


def corrupt(root: Path) -> Path:
    """Three files that cannot be read, and one that is there twice."""
    class_folders(root)
    (root / "class 0" / "0.png").write_bytes(b"")
    whole = (root / "class 1" / "1.png").read_bytes()
    (root / "class 1" / "1.png").write_bytes(whole[: len(whole) // 2])
    (root / "class 2" / "2.png").write_bytes(b"no picture")
    (root / "class 3" / "again.png").write_bytes((root / "class 3" / "0.png").read_bytes())
    return root


NAMES = (
    "with space",
    "it's",
    'say "hi"',
    "emoji 🐦",
    "ünïcode",
    "semi;colon",
    "[brackets]",
    "new\nline",
    "-dash",
    "=eq",
)


def names(root: Path) -> Path:
    """Names that break careless programs."""
    for number, name in enumerate(NAMES):
        for image in range(4):
            picture(root / name / f"{image} 'q' \"d\" 😀.png", hue=number)
    return root


def modes(root: Path) -> Path:
    """Every kind of pixel a picture may have."""
    class_folders(root)
    for number in range(10):
        place = root / f"class {number}"
        for kind, suffix in (("CMYK", "jpg"), ("P", "png"), ("RGBA", "png"), ("LA", "png"), ("1", "png")):
            picture(place / f"{kind}.{suffix}", hue=number, mode=kind)
        Image.fromarray(np.full((16, 16), number * 6000, np.uint16)).save(place / "deep.png")
    return root
