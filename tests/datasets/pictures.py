"""Tiny image files in the layouts of the data sets, for tests."""

from pathlib import Path

import numpy as np
from PIL import Image

#: names that have broken path handling somewhere
NASTY = ("two words", 'it\'s "quoted"', "emoji 🦜", "עברית", "comma, semi;colon", "-dash", "100%")


def picture(path: Path, seed: int = 0, *, size: tuple[int, int] = (20, 16), mode: str = "RGB") -> Path:
    """Write a coarse random pattern, wide and high as `size` says, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).convert(mode).save(path)
    return path


def class_folders(root: Path, names, per_class: int = 3) -> Path:
    """Write class folders with a few images each."""
    for number, name in enumerate(names):
        for image in range(per_class):
            picture(root / name / f"{image}.png", 100 * number + image)
    return root


def cub200(root: Path, numbers=(1, 2, 100, 101, 150, 200), per_class: int = 3, *, with_lists: bool = True) -> Path:
    """Write some classes of CUB-200-2011 in its official layout, or without the lists."""
    names = {number: f"{number:03d}.Bird_{number}" for number in numbers}
    class_folders(root / "images", names.values(), per_class)
    if with_lists:
        paths = [(number, f"{name}/{image}.png") for number, name in names.items() for image in range(per_class)]
        lines = {
            "images": [f"{row + 1} {path}" for row, (_, path) in enumerate(paths)],
            "image_class_labels": [f"{row + 1} {number}" for row, (number, _) in enumerate(paths)],
            "classes": [f"{number} {name}" for number, name in names.items()],
        }
        for name, content in lines.items():
            (root / f"{name}.txt").write_text("\n".join(content) + "\n")
    return root


def cars196(root: Path, numbers=(1, 50, 98, 99, 150, 196), per_class: int = 3) -> Path:
    """Write some classes of Cars196 in its official layout."""
    from scipy.io import savemat

    kinds = [("relative_im_path", "O"), ("bbox_x1", "O"), ("class", "O"), ("test", "O")]
    rows = []
    for number in numbers:
        for _ in range(per_class):
            name = f"car_ims/{len(rows) + 1:06d}.jpg"
            picture(root / name, len(rows))
            rows.append((name, 3, number, 0))
    annotations = np.empty((1, len(rows)), dtype=kinds)
    for column, row in enumerate(rows):
        annotations[0, column] = row
    names = np.empty((1, 196), dtype=object)
    names[0] = [f"Car {number}" for number in range(1, 197)]
    savemat(root / "cars_annos.mat", {"annotations": annotations, "class_names": names})
    return root


def sop(root: Path, *, lists: str = ".", images: str = ".", per_class: int = 3) -> Path:
    """Write three training and three test classes of Stanford Online Products, in two super-classes."""
    row = 0
    for half, numbers in (("train", (1, 2, 3)), ("test", (11319, 11320, 11321))):
        lines = ["image_id class_id super_class_id path"]
        for number in numbers:
            super_class = 1 + number % 2
            kind = ("bicycle_final", "chair_final")[super_class - 1]
            for _ in range(per_class):
                row += 1
                name = f"{kind}/{number}_{row}.JPG"
                picture(root / images / name, row)
                lines.append(f"{row} {number} {super_class} {name}")
        (root / lists).mkdir(parents=True, exist_ok=True)
        (root / lists / f"Ebay_{half}.txt").write_text("\n".join(lines) + "\n")
    return root


def in_shop(root: Path, *, eval_folder: str = "Eval", images: str = "Img", n_train: int = 6, n_test: int = 3) -> Path:
    """Write a few garments of In-Shop Clothes: three images each, one of a test garment being a query."""
    lines = []
    for number in range(n_train + n_test):
        for view, status in enumerate(("query", "gallery", "gallery")):
            name = f"img/WOMEN/Dresses/id_{number:08d}/0{view}_front.jpg"
            picture(root / images / name, 10 * number + view)
            lines.append(f"{name}   id_{number:08d}   {'train' if number < n_train else status}")
    (root / eval_folder).mkdir(parents=True, exist_ok=True)
    content = [str(len(lines)), "image_name item_id evaluation_status", *lines]
    (root / eval_folder / "list_eval_partition.txt").write_text("\n".join(content) + "\n")
    return root
