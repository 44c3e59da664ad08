"""Images from files and from memory."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from fairground.errors import DataError, InputError
from fairground.loading import ImageFiles, ImagesInMemory, n_threads, resize_shorter_side
from tests.loading.pictures import photo, photo_files

SIZES = [(40, 60), (50, 30), (33, 33), (20, 90)]
ROWS = np.array([2, 0, 3, 1])


def files(tmp_path: Path, **settings: object) -> ImageFiles:
    return ImageFiles(photo_files(tmp_path / "set", SIZES), root=tmp_path / "set", **settings)


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    images = files(tmp_path)
    assert images.sizes(ROWS).tolist() == [[33, 33], [40, 60], [20, 90], [50, 30]]
    assert images.sizes(ROWS, shorter_side=16).tolist() == [[16, 16], [16, 24], [16, 72], [26, 16]]
    assert (len(images), images.channels, images.is_slow) == (4, 3, True)


def test_crops_are_cut_from_the_decoded_and_resized_image(tmp_path: Path) -> None:
    images = files(tmp_path)
    boxes = np.tile([2, 1, 14, 13], (4, 1))
    found = images.crops(ROWS, boxes, 12, shorter_side=16)
    assert (found.shape, found.dtype) == ((4, 3, 12, 12), torch.uint8)
    for number, row in enumerate(ROWS):
        with Image.open(images.paths[row]) as image:
            wanted = np.asarray(resize_shorter_side(image.convert("RGB"), 16).crop((2, 1, 14, 13)))
        assert np.array_equal(found[number].permute(1, 2, 0).numpy(), wanted)


def test_threads_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = files(tmp_path)
    boxes = np.tile([0, 0, 20, 19], (4, 1))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert n_threads() == int(threads)
        found.append(images.crops(ROWS, boxes, 24))
    assert torch.equal(*found)
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert n_threads() >= 1
    # torchrun says 1 for the arithmetic of each process; the images have the cores.
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    for said, threads in (("1", 3), ("2", 2)):
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert n_threads() == threads
    monkeypatch.delenv("LOCAL_WORLD_SIZE")


def test_a_file_that_cannot_be_read_is_named_from_any_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = files(tmp_path)
    images.paths[3].write_bytes(b"broken")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(DataError, match=r"003\.jpg"):
        images.sizes(ROWS)
    with pytest.raises(DataError, match=r"003\.jpg"):
        images.crops(ROWS, np.tile([0, 0, 9, 9], (4, 1)), 9)


def test_boxes_cut_each_image_before_anything_else(tmp_path: Path) -> None:
    boxes = np.array([[0, 0, 60, 40], [5, 10, 25, 50], [0, 0, 33, 33], [10, 0, 30, 20]])
    images = files(tmp_path, boxes=boxes)
    assert images.sizes(np.arange(4)).tolist() == [[40, 60], [40, 20], [33, 33], [20, 20]]
    whole = files(tmp_path).picture(3)
    assert np.array_equal(np.asarray(images.picture(3)), np.asarray(whole.crop((10, 0, 30, 20))))
    with pytest.raises(DataError, match=r"box \(0, 0, 61, 40\) does not lie within image .*000\.jpg', which is 60"):
        files(tmp_path, boxes=np.array([[0, 0, 61, 40], *boxes[1:]])).sizes(np.arange(4))


def test_a_crop_outside_an_image_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"crop \(0, 0, 91, 5\) does not lie within image '.*003\.jpg'"):
        files(tmp_path).crops(np.array([3]), np.array([[0, 0, 91, 5]]), 4)


def test_the_fingerprint_follows_names_and_content_but_not_the_folder(tmp_path: Path) -> None:
    images = files(tmp_path)
    before = images.fingerprint()
    shutil.copytree(tmp_path / "set", tmp_path / "moved")
    moved = [tmp_path / "moved" / path.name for path in images.paths]
    assert ImageFiles(moved, root=tmp_path / "moved").fingerprint() == before
    assert ImageFiles(images.paths[::-1], root=tmp_path / "set").fingerprint() != before
    assert files(tmp_path, boxes=np.tile([0, 0, 9, 9], (4, 1))).fingerprint() != before
    photo(20, 90, seed=99).save(moved[3])
    assert ImageFiles(moved, root=tmp_path / "moved").fingerprint() != before
    moved[0].unlink()
    with pytest.raises(DataError, match=r"000\.jpg' cannot be read"):
        ImageFiles(moved, root=tmp_path / "moved").fingerprint()


def numbered(n=5, channels=2):
    return np.arange(n * channels * 6, dtype=np.uint8).reshape(n, channels, 2, 3)


def test_what_is_taken_can_be_changed_without_changing_the_data():
    images = ImagesInMemory(numbered())
    before = images.fingerprint()
    images.take(np.array([0, 1])).zero_()
    assert images.fingerprint() == before
    assert len(images) == 5


def test_the_fingerprint_sees_every_pixel_and_the_shape():
    pixels = numbered()
    changed = pixels.copy()
    changed[-1, -1, -1, -1] ^= 1
    prints = {ImagesInMemory(p).fingerprint() for p in (pixels, changed, pixels.reshape(5, 2, 3, 2))}
    assert len(prints) == 3
    assert ImagesInMemory(numbered()).fingerprint() in prints


def test_other_arrays_are_refused():
    with pytest.raises(DataError, match=r"images in memory are \(n, channels, height, width\); got \(5, 2, 2\)"):
        ImagesInMemory(np.zeros((5, 2, 2), np.uint8))
    with pytest.raises(DataError, match="images in memory are uint8; got float32"):
        ImagesInMemory(np.zeros((5, 1, 2, 2), np.float32))
