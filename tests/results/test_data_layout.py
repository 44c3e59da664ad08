"""Every set's script on a miniature copy of its repository: the layout, and what is refused."""

import hashlib
import importlib.util
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import cars196
import cub200
import fruits360
import layout
import numpy as np
import pets
import pytest
from picture_set import content_hash, digest
from rich.console import Console

from fairground.datasets.cars196 import Cars196Dataset
from fairground.datasets.cub200 import Cub200Dataset
from fairground.datasets.table import TableDataset
from fairground.errors import DataError
from tests.results import DATA
from tests.results.miniature import FILES, described, repository

SCRIPTS = {"cub200": cub200, "cars196": cars196, "pets": pets, "fruits360": fruits360}
QUIET = Console(quiet=True)


@pytest.fixture(params=SCRIPTS)
def name(request):
    return request.param


def laid_out(name, tmp_path):
    copy, script = repository(name, tmp_path / "copy"), SCRIPTS[name]
    layout.lay_out(
        described(script.SET, script.pictures(copy), copy), script.pictures, copy, tmp_path / "data", console=QUIET
    )
    return tmp_path / "data"


def test_a_copy_becomes_a_table_that_fairground_reads(name, tmp_path):
    data = laid_out(name, tmp_path)
    table = TableDataset(path=str(data / "table.csv")).load()
    assert len(table.labels) == len(FILES[name]) - (name == "cars196")
    assert 0 < table.official_test.sum() < len(table.labels)
    assert not set(table.labels[table.official_test]) & set(table.labels[~table.official_test])
    assert sorted(path.name for path in data.iterdir()) == ["data.json", "images", "table.csv"]
    assert all((data / path).is_file() for path in table.identifiers)
    assert table.notes == ()


def test_the_description_says_where_the_set_is_from_and_what_it_shares(name, tmp_path):
    known = json.loads((laid_out(name, tmp_path) / "data.json").read_text())
    assert known["name"] == name
    assert known["repository"].count("/") == 1
    assert known["overlap"]["level"] in ("images", "classes", "categories")
    assert known["overlap"]["shared"]


def test_cub_is_read_as_cub(tmp_path):
    table = Cub200Dataset(root=str(laid_out("cub200", tmp_path)), subset=True).load()
    assert Counter(table.labels[table.official_test].tolist()) == {2: 4, 3: 4}
    assert table.class_names[:2] == ("001.Black_footed_Albatross", "100.Brown_Pelican")


def test_cars_are_read_as_cars_without_the_large_pictures(tmp_path):
    data = laid_out("cars196", tmp_path)
    table = Cars196Dataset(root=str(data), subset=True).load()
    assert table.class_names[0] == "AM General Hummer SUV 2000"
    assert table.class_names[-1] == "smart fortwo Convertible 2012"
    assert table.official_test.tolist() == [False, False, False, True, True]
    assert not (data / "images" / "BMW 3 Series Wagon 2012" / "002411.jpg").exists()


def test_both_halves_of_the_pets_have_cats_and_dogs(tmp_path):
    table = TableDataset(path=str(laid_out("pets", tmp_path) / "table.csv")).load()
    halves = [
        {table.class_names[label] for label in table.labels[table.official_test == is_test]}
        for is_test in (False, True)
    ]
    assert [sum(name[0].isupper() for name in half) for half in halves] == [1, 1]
    assert [sum(name[0].islower() for name in half) for half in halves] == [1, 2]
    assert pets.training_half({"beagle", "pug", "boxer", "samoyed"}) == set(
        sorted(["beagle", "pug", "boxer", "samoyed"], key=lambda name: hashlib.sha256(name.encode()).digest())[:2]
    )


def test_a_fruit_spelt_in_two_ways_is_one_class_and_a_film_is_a_group(tmp_path):
    table = TableDataset(path=str(laid_out("fruits360", tmp_path) / "table.csv")).load()
    assert table.class_names == ("Apple Red 1", "Blackberry 3", "Pear 2", "Pear 3")
    films = [len(np.unique(table.groups[table.labels == label])) for label in range(4)]
    assert films == [2, 2, 1, 1]
    assert sum("Apple Red 1/training_1_100.jpg" in path for path in table.identifiers) == 1
    assert sum("Apple Red 1/test_1_100.jpg" in path for path in table.identifiers) == 1


def test_no_kind_of_fruit_is_in_both_halves():
    labels = [f"{kind} {number}" for kind in ("Apple", "Pear", "Fig", "Plum") for number in range(1, 6)]
    learnt = fruits360.training_classes(labels)
    assert len(learnt) == 10
    kinds = sorted(("Apple", "Pear", "Fig", "Plum"), key=digest)
    assert {label.split()[0] for label in learnt} == set(kinds[:2])


def test_sixty_fruits_are_chosen_by_hash_whatever_their_order():
    paths = [Path("Training", "Fig 1", f"{number}_100.jpg") for number in range(100)]
    taken = fruits360.chosen(paths)
    assert len(taken) == 60
    assert taken == fruits360.chosen(paths[::-1])
    last = max(hashlib.sha256(path.as_posix().encode()).hexdigest() for path in taken)
    assert sum(hashlib.sha256(path.as_posix().encode()).hexdigest() <= last for path in paths) == 60


def refusal(name, tmp_path, **changed):
    copy, script = tmp_path / "copy", SCRIPTS[name]
    expected = described(script.SET, script.pictures(copy), copy)
    with pytest.raises(DataError) as refused:
        layout.lay_out(replace(expected, **changed), script.pictures, copy, tmp_path / "data", console=QUIET)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]
    return str(refused.value)


def test_another_count_is_refused_with_both_numbers(name, tmp_path):
    repository(name, tmp_path / "copy")
    said = refusal(name, tmp_path, train=SCRIPTS[name].SET.train)
    assert f"{SCRIPTS[name].SET.train.images:,} + " in said
    assert "this copy has" in said
    assert f"at commit {SCRIPTS[name].SET.commit}" in said


def test_another_content_is_refused_with_both_hashes_and_leaves_nothing(name, tmp_path):
    copy, script = repository(name, tmp_path / "copy"), SCRIPTS[name]
    expected = described(script.SET, script.pictures(copy), copy)
    changed = copy / script.pictures(copy)[0].source
    changed.write_bytes(changed.read_bytes()[:-1] + b"\0")
    found = described(script.SET, script.pictures(copy), copy)
    assert found.sha256 != expected.sha256
    said = refusal(name, tmp_path, sha256=expected.sha256)
    assert f"must be {expected.sha256}; this copy has {found.sha256}" in said


def test_a_folder_that_exists_is_left_alone(tmp_path):
    data = laid_out("pets", tmp_path)
    with pytest.raises(DataError, match="exists already; remove it or name another folder"):
        layout.lay_out(pets.SET, pets.pictures, tmp_path / "copy", data, console=QUIET)


def test_a_class_of_cub_without_a_number_is_refused(tmp_path):
    copy = repository("cub200", tmp_path / "copy")
    (copy / "train" / "001.Black_footed_Albatross").rename(copy / "train" / "Albatross")
    with pytest.raises(DataError, match=r"must begin with three digits.*got 'Albatross'"):
        cub200.pictures(copy)


def test_the_hash_is_what_sha256sum_says(tmp_path):
    (tmp_path / "images").mkdir()
    for path in ("images/b 2.jpg", "images/a.jpg", "table.csv"):
        (tmp_path / path).write_bytes(path.encode())
    entries = [(path, digest(path)) for path in ("table.csv", "images/b 2.jpg", "images/a.jpg")]
    command = "find images table.csv -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    said = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert content_hash(entries) == said.split()[0]


def test_a_script_refuses_in_a_sentence(name, tmp_path):
    script = DATA / f"{name}.py"
    copy = repository(name, tmp_path / "copy")
    command = [sys.executable, str(script), str(copy), "-o", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Refused: {SCRIPTS[name].SET.title} has ")
    assert "Traceback" not in done.stderr


def test_what_is_shared_with_imagenet_is_a_category_of_it(name):
    found = importlib.util.find_spec("timm")
    folder = Path(found.submodule_search_locations[0]) / "data" / "_info"
    lemmas = dict(
        line.split("\t") for line in (folder / "imagenet_synset_to_lemma.txt").read_text().splitlines() if line
    )
    categories = {lemmas[synset].split(",")[0] for synset in (folder / "imagenet_synsets.txt").read_text().split()}
    assert len(categories) > 990
    overlap = SCRIPTS[name].SET.overlap
    assert {shared.imagenet for shared in overlap.shared} <= categories
    assert (overlap.n_images is not None) == (overlap.level == "images")
    assert [shared.own for shared in overlap.shared] == sorted({shared.own for shared in overlap.shared})
