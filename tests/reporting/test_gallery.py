import base64
import io

import numpy as np
from PIL import Image

from fairground.records.arrays import read_arrays
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
