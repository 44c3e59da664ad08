"""Miniature copies of the public repositories: the same folders and names, a few drawn pictures each."""

import hashlib
from dataclasses import replace
from pathlib import Path

import layout
import numpy as np
from picture_set import Half, Picture, PictureSet, content_hash
from PIL import Image

FILES = {
    "cub200": [
        f"{part}/{label}/{label[4:]}_{part}_{number}.jpg"
        for label in ("001.Black_footed_Albatross", "100.Brown_Pelican", "101.White_Pelican", "200.Common_Yellowthroat")
        for part in ("train", "test")
        for number in (1, 2)
    ],
    "cars196": [
        "train/AM General Hummer SUV 2000/000001.jpg",
        "test/AM General Hummer SUV 2000/000046.jpg",
        "test/BMW 3 Series Wagon 2012/002410.jpg",
        "test/BMW 3 Series Wagon 2012/002411.jpg",
        "train/Volvo XC90 SUV 2007/016000.jpg",
        "test/smart fortwo Convertible 2012/016185.jpg",
    ],
    "pets": [
        f"images/{breed}_{number}.jpg"
        for breed in ("Abyssinian", "Bengal", "beagle", "english_setter", "shiba_inu")
        for number in (1, 10, 2)
    ],
    "fruits360": [
        f"{part}/{label}/{film}{number}_100.jpg"
        for part, label, film in (
            ("Training", "BlackBerry 3", "r0_"),
            ("Test", "Blackberry 3", "r1_"),
            ("Training", "Apple Red 1", ""),
            ("Test", "Apple Red 1", ""),
            ("Training", "Apple Red 1", "r_"),
            ("Training", "Pear 2", "r2_"),
            ("Training", "Pear 3", "r2_"),
        )
        for number in (1, 2)
    ],
    "omniglot": [
        f"python/images_background_small{part}/{alphabet}/character0{character}/0{character}01_0{number}.png"
        for part, alphabets in ((1, ("Greek", "Korean", "Latin")), (2, ("Latin", "Sanskrit")))
        for alphabet in alphabets
        for character in (1, 2)
        for number in (1, 2)
    ],
    "groceries": [
        f"dataset/{part}/{folder}/{folder.rpartition('/')[2]}_{number}.jpg"
        for part in ("train", "val", "test")
        for folder in ("Fruit/Apple/Pink-Lady", "Fruit/Apple/Royal-Gala", "Fruit/Banana", "Packages/Milk/Oat")
        for number in (1, 2)
    ],
}
#: files of text that a script reads
TEXTS = {
    "groceries": {
        "dataset/classes.csv": "Class Name (str),Coarse Class Name (str)\nPink-Lady,Apple\nRoyal-Gala,Apple\n"
        "Banana,Banana\nOat,Milk\n"
    }
}


def repository(name: str, folder: Path) -> Path:
    """Return a folder with the miniature of one repository, a file of text among the pictures."""
    for number, path in enumerate(FILES[name]):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        colours = np.random.default_rng(number).integers(0, 256, (9, 12, 3), dtype=np.uint8)
        Image.fromarray(colours).resize((120, 90)).save(file)
        (file.parent / "notes.txt").write_text("not a picture", encoding="utf-8")
    for path, text in TEXTS.get(name, {}).items():
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def described(real: PictureSet, pictures: list[Picture], copy: Path) -> PictureSet:
    """Return the description of a set with the counts and the hash of a miniature."""
    entries = [(each.path, hashlib.sha256((copy / each.source).read_bytes()).hexdigest()) for each in pictures]
    entries.append(("table.csv", hashlib.sha256(layout.table_bytes(pictures)).hexdigest()))
    halves = {
        split: Half(len({each.label for each in part}), len(part))
        for split in ("train", "test")
        for part in [[each for each in pictures if each.split == split]]
    }
    return replace(real, train=halves["train"], test=halves["test"], sha256=content_hash(entries))
