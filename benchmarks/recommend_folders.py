"""Lay out the folders of `python -m benchmarks recommend`: parts of public sets of images, and of the icons.

`python -m benchmarks.recommend_folders MIRRORS OUT` reads bare git copies of the repositories below, which are
MIRRORS/owner+name/repo, writes OUT/<name>/<class>/<image> and prints what it took. Classes and images are spread evenly
over their sorted names.
"""

import csv
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from fairground.datasets.icons import SHIPPED

Found = tuple[str, str, Callable[[], bytes]]


@dataclass(frozen=True)
class Folder:
    """`pattern` has the group `label`; at most `classes` and `images` of each; `side` shrinks to a shorter side."""

    name: str
    repository: str
    pattern: str
    classes: int
    images: int
    side: int = 0


FOLDERS = (
    Folder("birds", "cyizhuo/CUB-200-2011-dataset", r"(train|test)/(?P<label>\d+)\.", 50, 30),
    Folder("birds_many", "cyizhuo/CUB-200-2011-dataset", r"(train|test)/(?P<label>\d+)\.", 170, 60),
    Folder("birds_64", "cyizhuo/CUB-200-2011-dataset", r"(train|test)/(?P<label>\d*[27])\.", 40, 30, side=64),
    Folder("cars", "cyizhuo/Stanford-Cars-dataset", r"(train|test)/(?P<label>[^/]+)/", 40, 24),
    Folder("characters", "brendenlake/omniglot", r"python/(?P<label>images_background_small1)\.zip", 140, 20),
    Folder("clothes", "alexeygrigorev/clothing-dataset", r"images/(?P<label>.*)\.jpg", 12, 80),
    Folder("flowers", "3ba2ii/Flower-Classifier", r"flowers/(train|test|valid)/(?P<label>\d+)/", 102, 12),
    Folder("fruits", "fruits-360/fruits-360-100x100", r"Training/(?P<label>[^/]+)/", 60, 25),
    Folder("groceries", "marcusklasson/GroceryStoreDataset", r"dataset/(train|test|val)/.*/(?P<label>[^/]+)/", 36, 20),
    Folder("icons", "", "", 120, 30),
    Folder("pets", "ml4py/dataset-iiit-pet", r"images/(?P<label>.*)_\d+\.jpg", 37, 40),
    Folder("pets_few", "ml4py/dataset-iiit-pet", r"images/(?P<label>[A-Z].*)_\d+\.jpg", 12, 25),
    Folder("signs", "hergerr/traffic-sign-recognition", r"GTSRB/Final_Training/Images/(?P<label>\d+)/.*ppm", 43, 60),
    Folder("textures", "pan8915/DeepTexture", r"images/(?P<label>[^/]+)/", 10, 100),
)


def main(mirrors: Path, out: Path) -> None:
    for folder in FOLDERS:
        if (out / folder.name).exists():
            continue
        found: dict[str, list[Found]] = {}
        for label, name, read in sorted(_pictures(folder, mirrors), key=lambda one: one[:2]):
            found.setdefault(label, []).append((label, name, read))
        some = _spread([label for label in found if len(found[label]) > 3], folder.classes)
        taken = [one for label in some for one in _spread(found[label], folder.images)]
        sides = [_write(folder, out, *one) for one in taken]
        print(f"{folder.name}: {len(taken)} images of {len(some)} classes, shorter side {min(sides)} to {max(sides)}")


def _pictures(folder: Folder, mirrors: Path) -> Iterator[Found]:
    """Yield label, file name and a function that reads the bytes of every image there is."""
    if not folder.repository:
        arrays = np.load(SHIPPED)
        for row, (label, pixels) in enumerate(zip(arrays["labels"], arrays["images"], strict=True)):
            yield str(label), f"{row}.png", partial(_png, pixels)
        return
    git = ["git", f"--git-dir={mirrors / folder.repository.replace('/', '+') / 'repo'}"]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], check=True, stdout=subprocess.PIPE, text=True).stdout
    blobs = {path: about.split()[2] for about, _, path in (line.partition("\t") for line in listed.split("\0")[:-1])}

    def read(path: str) -> bytes:
        return subprocess.run([*git, "cat-file", "blob", blobs[path]], check=True, stdout=subprocess.PIPE).stdout

    found = {path: match["label"] for path in blobs if (match := re.match(folder.pattern, path))}
    if folder.name == "characters":
        (path,) = found
        archive = zipfile.ZipFile(io.BytesIO(read(path)))
        for name in archive.namelist():
            if name.endswith(".png"):
                _, alphabet, character, file = name.split("/")
                yield f"{alphabet} {character}", file, partial(archive.read, name)
        return
    if folder.name == "clothes":
        labels = {row["image"]: row["label"] for row in csv.DictReader(io.StringIO(read("images.csv").decode()))}
        unclear = ("Not sure", "Other", "Skip")
        found = {path: labels[name] for path, name in found.items() if labels.get(name, unclear[0]) not in unclear}
    for path, label in found.items():
        if path.lower().endswith((".jpg", ".ppm")):
            yield label, path.replace("/", "_"), partial(read, path)


def _spread(found: list, most: int) -> list:
    return [found[index] for index in np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).astype(int))]


def _png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "png")
    return stream.getvalue()


def _write(folder: Folder, out: Path, label: str, name: str, read: Callable[[], bytes]) -> int:
    """Write an image as it is, or shrunk; return its shorter side."""
    path = out / folder.name / label / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = read()
    image = Image.open(io.BytesIO(content))
    if folder.side:
        scale = folder.side / min(image.size)
        size = (round(image.width * scale), round(image.height * scale))
        image.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(path, quality=95)
        return folder.side
    path.write_bytes(content)
    return min(image.size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
