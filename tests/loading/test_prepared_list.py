"""Which prepared images there are, and their removal."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.loading.image_dataset import images_from_files
from fairground.loading.resized_images import USED, cache_root, find_cache, list_caches, remove_cache
from tests.loading.pictures import photo_files

DAY = 86400


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))


def images_of(root, side=32):
    return images_from_files(sorted(root.glob("*.jpg")), root=root, prepared=side)


def build(root, *, sizes=((40, 60), (33, 33)), days_ago=0.0):
    """Prepare a folder of photographs, last used some days ago, and return its key."""
    before = {entry.key for entry in list_caches()}
    photo_files(root, list(sizes))
    images_of(root).prepare()
    (key,) = {entry.key for entry in list_caches()} - before
    age(key, days_ago)
    return key


def age(key, days):
    for name in (USED, "index.json"):
        path = cache_root() / key / name
        past = path.stat().st_mtime - days * DAY
        os.utime(path, (past, past))


def call(*words):
    return CliRunner().invoke(app, ["data", "caches", *words])


def test_a_cache_says_of_what_how_large_and_when_last_used(tmp_path):
    assert list_caches() == []
    key = build(tmp_path / "birds", days_ago=40)
    (entry,) = list_caches()
    assert (entry.key, entry.n_images, entry.side, entry.is_complete) == (key, 2, 32, True)
    assert entry.source == str(tmp_path / "birds")
    assert entry.n_bytes > 32 * 48 * 3 + 32 * 32 * 3
    before = entry.last_used
    images_of(tmp_path / "birds").prepare()
    assert list_caches()[0].last_used > before + 39 * DAY


def test_removed_by_key_and_built_again_when_asked_for(tmp_path):
    key = build(tmp_path / "birds")
    images = images_of(tmp_path / "birds")
    images.prepare()
    pixels = images.take(np.array([0]))
    remove_cache(find_cache(list_caches(), key[:6]))
    assert list_caches() == []
    # Whoever reads it goes on reading.
    assert bool((images.take(np.array([0])) == pixels).all())
    images_of(tmp_path / "birds").prepare()
    assert list_caches()[0].key == key


def test_an_interrupted_build_is_listed_and_removed(tmp_path):
    key = build(tmp_path / "birds")
    (cache_root() / key).rename(cache_root() / f"{key}.part")
    (cache_root() / f"{key}.part" / "index.json").unlink()
    (entry,) = list_caches()
    assert not entry.is_complete
    assert "not finished" in call().stdout
    remove_cache(entry)
    assert list_caches() == []


def test_the_command_lists_the_longest_unused_first_and_removes_by_age(tmp_path):
    new, old = build(tmp_path / "birds"), build(tmp_path / "cars", sizes=((50, 50),), days_ago=31)
    lines = call().stdout.splitlines()
    assert [line[:8] for line in lines[:2]] == [old[:8], new[:8]]
    assert "1 images, side 32" in lines[0]
    assert str(tmp_path / "cars") in lines[0]
    assert lines[2].startswith("2 caches, 0.0 MB")
    told = json.loads(call("--older-than", "30d", "--json").stdout)
    assert [entry["key"] for entry in told["removed"]] == [old]
    assert [entry["key"] for entry in told["caches"]] == [new]
    assert f"removed {new[:8]}" in call("--remove", new[:5]).stdout
    assert call().stdout == "no caches\n"
