"""Every set's script on a miniature copy of its repository: the layout, and what is refused."""

from dataclasses import replace

import cars196
import cub200
import fruits360
import groceries
import layout
import numpy as np
import omniglot
import pets
import pytest
from rich.console import Console

from fairground.datasets import Cars196Dataset, TableDataset
from fairground.errors import DataError
from tests.results.miniature import FILES, described, repository

SCRIPTS = {
    "cub200": cub200,
    "cars196": cars196,
    "pets": pets,
    "fruits360": fruits360,
    "omniglot": omniglot,
    "groceries": groceries,
}
#: files of a miniature that are not laid out: a large picture of cars, an alphabet that both archives have
LEFT_OUT = {"cars196": 1, "omniglot": 4}
KINDS = {"Pink-Lady": "Apple", "Royal-Gala": "Apple", "Banana": "Banana", "Oat": "Milk"}
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
    assert len(table.labels) == len(FILES[name]) - LEFT_OUT.get(name, 0)
    assert 0 < table.official_test.sum() < len(table.labels)
    assert not set(table.labels[table.official_test]) & set(table.labels[~table.official_test])
    assert sorted(path.name for path in data.iterdir()) == ["data.json", "images", "table.csv"]
    assert all((data / path).is_file() for path in table.identifiers)
    assert table.notes == ()


def test_cars_are_read_as_cars_without_the_large_pictures(tmp_path):
    data = laid_out("cars196", tmp_path)
    table = Cars196Dataset(root=str(data), subset=True).load()
    assert table.class_names[0] == "AM General Hummer SUV 2000"
    assert table.class_names[-1] == "smart fortwo Convertible 2012"
    assert table.official_test.tolist() == [False, False, False, True, True]
    assert not (data / "images" / "BMW 3 Series Wagon 2012" / "002411.jpg").exists()


def test_a_fruit_spelt_in_two_ways_is_one_class_and_a_film_is_a_group(tmp_path):
    table = TableDataset(path=str(laid_out("fruits360", tmp_path) / "table.csv")).load()
    assert table.class_names == ("Apple Red 1", "Blackberry 3", "Pear 2", "Pear 3")
    films = [len(np.unique(table.groups[table.labels == label])) for label in range(4)]
    assert films == [2, 2, 1, 1]
    assert sum("Apple Red 1/training_1_100.jpg" in path for path in table.identifiers) == 1
    assert sum("Apple Red 1/test_1_100.jpg" in path for path in table.identifiers) == 1


@pytest.mark.parametrize(("name", "kind_of"), [("omniglot", lambda label: label.split()[0]), ("groceries", KINDS.get)])
def test_a_kind_is_whole_in_one_half(name, kind_of, tmp_path):
    table = TableDataset(path=str(laid_out(name, tmp_path) / "table.csv")).load()
    halves = [
        {kind_of(table.class_names[label]) for label in table.labels[part]}
        for part in (table.official_test, ~table.official_test)
    ]
    assert None not in halves[0] | halves[1]
    assert not halves[0] & halves[1]


def refusal(name, tmp_path, **changed):
    copy, script = tmp_path / "copy", SCRIPTS[name]
    expected = described(script.SET, script.pictures(copy), copy)
    with pytest.raises(DataError) as refused:
        layout.lay_out(replace(expected, **changed), script.pictures, copy, tmp_path / "data", console=QUIET)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]
    return str(refused.value)


def test_another_content_is_refused_with_both_hashes_and_leaves_nothing(name, tmp_path):
    copy, script = repository(name, tmp_path / "copy"), SCRIPTS[name]
    expected = described(script.SET, script.pictures(copy), copy)
    changed = copy / script.pictures(copy)[0].source
    changed.write_bytes(changed.read_bytes()[:-1] + b"\0")
    found = described(script.SET, script.pictures(copy), copy)
    assert found.sha256 != expected.sha256
    said = refusal(name, tmp_path, sha256=expected.sha256)
    assert f"must be {expected.sha256}; this copy has {found.sha256}" in said
