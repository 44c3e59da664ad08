import base64
import io

import numpy as np
import pytest
from PIL import Image

from fairground.errors import DataError
from fairground.records.arrays import read_arrays, write_arrays
from fairground.reporting.gallery_pictures import read_gallery
from tests.reporting.fixtures import write_gallery


def opened(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


def test_small_pictures_are_kept_exactly(tmp_path):
    path = write_gallery(tmp_path / "gallery.npz")
    gallery = read_gallery(path)
    images = read_arrays(path, ["images"])["images"]
    for q, query in enumerate(gallery.queries):
        assert (np.asarray(opened(query.picture.uri)) == images[q, 0, :, :, 0]).all()
        assert (np.asarray(opened(query.neighbours[3].uri)) == images[q, 4, :, :, 0]).all()
    assert gallery.is_pixelated
    assert gallery.weight < 40_000


def test_every_tile_says_what_it_is_without_colour(tmp_path):
    first, second, last = read_gallery(write_gallery(tmp_path / "gallery.npz")).queries
    assert first.picture.alt == "query: anchor"
    assert [tile.alt for tile in second.neighbours] == ["right: anchor", "wrong: bell", "right: anchor", "wrong: bell"]
    assert [query.average_precision for query in (first, second, last)] == [1.0, 0.5, 0.0]


def test_photographs_are_made_small(tmp_path):
    gallery = read_gallery(write_gallery(tmp_path / "gallery.npz", side=300, channels=3))
    picture = opened(gallery.queries[0].picture.uri)
    assert (picture.format, max(picture.size)) == ("JPEG", 96)
    assert not gallery.is_pixelated


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("images", np.zeros((3, 5, 8, 8), np.uint8), r"images must be .* 1 or 3\); got uint8 \(3, 5, 8, 8\)"),
        ("labels", np.array([["a"]]), r"labels must be \(3, 5\); got \(1, 1\)"),
        ("right", np.zeros((3, 5), bool), r"right must be \(3, 4\); got \(3, 5\)"),
        ("average_precision", np.full(3, np.nan), "must be finite"),
    ],
)
def test_a_file_that_is_not_a_gallery_is_refused(tmp_path, name, value, sentence):
    path = write_gallery(tmp_path / "gallery.npz")
    arrays = read_arrays(path, ["images", "labels", "right", "average_precision", "rows"])
    write_arrays(path, arrays | {name: value})
    with pytest.raises(DataError, match=f"is not a gallery: .*{sentence}"):
        read_gallery(path)
