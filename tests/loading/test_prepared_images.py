"""The prepared cache: the same pixels as decoding, built once, killed and resumed, listed and removed."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.errors import DamageWarning, DataError, InputError, StoreError
from fairground.loading import ImageFiles, PreparedImages, checksummed_cache, prepared_images
from fairground.loading.caches import USED, cache_root, list_caches
from tests.loading.pictures import photo, photo_files
from tests.patience import wait_for

pytestmark = pytest.mark.usefixtures("own_cache")
SIZES = [(40, 60), (50, 30), (33, 33), (20, 90), (64, 64), (48, 80)]
ROWS = np.arange(len(SIZES))


def prepared(root: Path) -> PreparedImages:
    return PreparedImages(ImageFiles(sorted(root.glob("*.jpg")), root=root), side=32)


def builds(root: Path) -> list[tuple[int, int]]:
    """Prepare the images of a folder and return what was told meanwhile: nothing where no build was needed."""
    told: list[tuple[int, int]] = []
    prepared(root).prepare(lambda done, total: told.append((done, total)))
    return told


def middle(images: PreparedImages) -> torch.Tensor:
    boxes = np.tile([4, 3, 24, 27], (len(images), 1))
    return images.crops(np.arange(len(images)), boxes, 16, shorter_side=32)


def test_prepared_crops_are_those_of_the_files(tmp_path: Path) -> None:
    paths = photo_files(tmp_path / "set", SIZES)
    decoded = ImageFiles(paths, root=tmp_path / "set")
    images = prepared(tmp_path / "set")
    assert np.array_equal(images.sizes(ROWS, shorter_side=32), decoded.sizes(ROWS, shorter_side=32))
    boxes = np.array([[1, 2, 20, 30], [0, 0, 32, 32], [4, 4, 20, 20], [7, 0, 32, 32], [0, 5, 30, 32], [9, 9, 29, 30]])
    wanted = decoded.crops(ROWS, boxes, 20, shorter_side=32)
    assert torch.equal(images.crops(ROWS, boxes, 20, shorter_side=32), wanted)
    assert torch.equal(images.crops(ROWS, boxes, 20), wanted)
    assert images.fingerprint() == decoded.fingerprint()
    assert (len(images), images.channels, images.is_slow) == (6, 3, True)


def test_boxes_of_the_data_set_are_cut_before_preparing(tmp_path: Path) -> None:
    paths = photo_files(tmp_path / "set", SIZES[:2])
    boxes = np.array([[10, 0, 50, 40], [0, 0, 30, 40]])
    images = PreparedImages(ImageFiles(paths, root=tmp_path / "set", boxes=boxes), side=32)
    assert images.sizes(np.arange(2)).tolist() == [[32, 32], [42, 32]]


def test_a_smaller_shorter_side_is_served_and_a_larger_refused(tmp_path: Path) -> None:
    photo_files(tmp_path / "set", SIZES)
    images = prepared(tmp_path / "set")
    assert images.sizes(ROWS[:2], shorter_side=16).tolist() == [[16, 24], [26, 16]]
    assert images.crops(ROWS, np.tile([0, 0, 16, 16], (6, 1)), 16, shorter_side=16).shape == (6, 3, 16, 16)
    with pytest.raises(InputError, match="prepared with a shorter side of 32, but 64 is asked for; say data"):
        images.sizes(ROWS, shorter_side=64)
    with pytest.raises(InputError, match="prepared=64"):
        images.crops(ROWS, np.tile([0, 0, 16, 16], (6, 1)), 16, shorter_side=64)


def test_the_cache_is_built_once_and_outside_the_data(tmp_path: Path) -> None:
    photo_files(tmp_path / "set", SIZES)
    assert builds(tmp_path / "set") == [(0, 6), (6, 6)]
    assert builds(tmp_path / "set") == []
    assert len(list((tmp_path / "set").iterdir())) == 6
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"digests.sqlite", "prepared"}


def test_a_changed_image_is_noticed_even_at_the_same_length(tmp_path: Path) -> None:
    root = tmp_path / "set"
    photo_files(root, [(200, 200)] * 2)
    path = root / "000.bmp.jpg"
    photo(200, 200, seed=5).save(path, format="BMP")
    builds(root)
    before = middle(prepared(root))
    content = bytearray(path.read_bytes())
    half = len(content) // 2
    content[half : half + 3000] = bytes(3000)  # in the middle, where the fingerprint does not look
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))
    assert builds(root) == [(0, 3), (3, 3)]
    assert not torch.equal(middle(prepared(root)), before)


def test_added_and_removed_images_make_another_cache(tmp_path: Path) -> None:
    paths = photo_files(tmp_path / "set", SIZES)
    builds(tmp_path / "set")
    paths[-1].unlink()
    assert builds(tmp_path / "set") == [(0, 5), (5, 5)]


def flip(path: Path, *places: float) -> None:
    """Change one bit at each of these places of a file, given as shares of its length."""
    data = bytearray(path.read_bytes())
    for place in places:
        data[int(place * len(data))] ^= 4
    path.write_bytes(data)


DAMAGES = {
    "pixels cut": lambda folder: os.truncate(folder / "pixels.bin", 100),
    "bits flipped": lambda folder: flip(folder / "pixels.bin", 0.1, 0.5, 0.9),
    "sums gone": lambda folder: (folder / "pixels.sums").unlink(),
    "index gone": lambda folder: (folder / "index.json").unlink(),
    "sizes edited": lambda folder: (folder / "index.json").write_text(
        (folder / "index.json").read_text().replace("[32,48]", "[48,32]")
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_gives_the_right_pixels_and_says_so(tmp_path: Path, damage: str) -> None:
    photo_files(tmp_path / "set", SIZES)
    wanted = middle(prepared(tmp_path / "set"))
    (folder,) = (path for path in (tmp_path / "cache" / "prepared").iterdir() if path.is_dir())
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    DAMAGES[damage](folder)
    with nullcontext() if damage.startswith(("index", "sizes")) else pytest.warns(DamageWarning, match=str(folder)):
        assert torch.equal(middle(prepared(tmp_path / "set")), wanted)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(middle(prepared(tmp_path / "set")), wanted)


def test_an_unreadable_image_is_named_and_leaves_no_cache(tmp_path: Path) -> None:
    paths = photo_files(tmp_path / "set", SIZES)
    paths[4].write_bytes(paths[4].read_bytes()[:400])
    with pytest.raises(DataError, match=r"004\.jpg"):
        builds(tmp_path / "set")
    assert not list((tmp_path / "cache").glob("prepared/*/index.json"))


def test_a_full_or_forbidden_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photo_files(tmp_path / "set", SIZES)
    free = type("Usage", (), {"free": 10})()
    with monkeypatch.context() as patch:
        patch.setattr(checksummed_cache.shutil, "disk_usage", lambda _: free)
        with pytest.raises(StoreError, match=r"needs 0\.0 MB in .*FAIRGROUND_CACHE"):
            builds(tmp_path / "set")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match=r"cannot write the cache .*set FAIRGROUND_CACHE.* or say data\.prepared=0"):
        builds(tmp_path / "set")


BUILDER = """
import sys, time
from pathlib import Path
from fairground.loading import ImageFiles, prepared_images
prepared_images._CHUNK_BYTES = 1
root = Path(sys.argv[1])
def tell(done, total):
    print(done, flush=True)
    time.sleep(float(sys.argv[2]))
prepared_images.PreparedImages(ImageFiles(sorted(root.glob("*.jpg")), root=root), side=32).prepare(tell)
"""


def test_a_killed_build_leaves_nothing_usable_and_is_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photo_files(tmp_path / "set", SIZES)
    command = [sys.executable, "-c", BUILDER, str(tmp_path / "set"), "0.3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        wait_for(lambda: child.stdout.readline() == "3\n", child)
        child.kill()
    assert not list((tmp_path / "cache").glob("prepared/*/index.json"))
    monkeypatch.setattr(prepared_images, "_CHUNK_BYTES", 1)
    told = builds(tmp_path / "set")
    assert told[0] == (3, 6)
    assert told[-1] == (6, 6)
    resumed = middle(prepared(tmp_path / "set"))
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "other"))
    assert torch.equal(resumed, middle(prepared(tmp_path / "set")))


DAY = 86400


def build(root, *, sizes=((40, 60), (33, 33)), days_ago=0.0):
    """Prepare a folder of photographs, last used some days ago, and return its key."""
    before = {entry.key for entry in list_caches()}
    photo_files(root, list(sizes))
    prepared(root).prepare()
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
    prepared(tmp_path / "birds").prepare()
    assert list_caches()[0].last_used > before + 39 * DAY


def test_removed_and_built_again_when_asked_for(tmp_path):
    key = build(tmp_path / "birds")
    images = prepared(tmp_path / "birds")
    images.prepare()
    pixels = images.take(np.array([0]))
    shutil.rmtree(cache_root() / key)
    assert list_caches() == []
    # Whoever reads it goes on reading.
    assert bool((images.take(np.array([0])) == pixels).all())
    prepared(tmp_path / "birds").prepare()
    assert list_caches()[0].key == key


def test_an_interrupted_build_is_listed(tmp_path):
    key = build(tmp_path / "birds")
    (cache_root() / key / "index.json").unlink()
    (entry,) = list_caches()
    assert not entry.is_complete
    assert "not finished" in call().stdout


def test_the_command_lists_the_longest_unused_first_with_their_folders(tmp_path):
    assert call().stdout == "no caches\n"
    new, old = build(tmp_path / "birds"), build(tmp_path / "cars", sizes=((50, 50),), days_ago=31)
    lines = call().stdout.splitlines()
    assert [line.strip() for line in lines[1:4:2]] == [str(cache_root() / key) for key in (old, new)]
    assert "1 images, side 32" in lines[0]
    assert str(tmp_path / "cars") in lines[0]
    assert lines[4].startswith("2 caches, 0.0 MB")
    assert [entry["key"] for entry in json.loads(call("--json").stdout)["caches"]] == [old, new]
