"""Every nasty kind of image file is read as a person sees it or refused in a sentence with its name."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile, ImageOps

from fairground.errors import DataError
from fairground.loading.decoding import MAX_PIXELS, open_picture, picture_size
from tests.loading.pictures import photo


def saved(folder: Path, image: Image.Image, name: str, **options: object) -> Path:
    path = folder / name
    image.save(path, **options)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        open_picture(path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def pixel(path: Path) -> tuple[int, ...]:
    image = open_picture(path)
    assert image.mode == "RGB"
    return tuple(image.getpixel((0, 0)))


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.bmp", "a.gif", "a.webp", "a.tiff", "a.ppm"])
def test_common_formats_are_read_as_pillow_reads_them(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, photo(20, 30), name)
    with Image.open(path) as image:
        assert np.array_equal(np.asarray(open_picture(path)), np.asarray(image.convert("RGB")))
    assert picture_size(path) == (20, 30)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png", "tiff", "webp"])
def test_exif_orientation_is_undone_in_size_and_pixels(tmp_path: Path, orientation: int, suffix: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path, photo(20, 30), f"turned.{suffix}", exif=exif)
    with Image.open(path) as image:
        seen = ImageOps.exif_transpose(image).convert("RGB")
    found = open_picture(path)
    assert np.array_equal(np.asarray(found), np.asarray(seen))
    assert picture_size(path) == (found.height, found.width) == ((30, 20) if orientation > 4 else (20, 30))


def test_gray_one_bit_and_palette_images_become_rgb(tmp_path: Path) -> None:
    assert pixel(saved(tmp_path, Image.new("L", (3, 2), 77), "gray.png")) == (77, 77, 77)
    assert pixel(saved(tmp_path, Image.new("1", (3, 2), 1), "bit.png")) == (255, 255, 255)
    palette = Image.new("RGB", (3, 2), (9, 200, 30)).quantize(4)
    assert pixel(saved(tmp_path, palette, "palette.png")) == (9, 200, 30)
    assert pixel(saved(tmp_path, palette, "palette.gif")) == (9, 200, 30)


def test_cmyk_is_converted(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "print.jpg", quality=100)
    red, green, blue = pixel(path)
    assert red > 250
    assert green < 5
    assert blue < 5


def test_sixteen_bits_keep_their_scale(tmp_path: Path) -> None:
    values = np.array([[0, 256, 32768, 65535]], np.uint16)
    for name in ("deep.png", "deep.tiff"):
        path = saved(tmp_path, Image.fromarray(values), name)
        assert np.asarray(open_picture(path))[0, :, 0].tolist() == [0, 1, 128, 255]


def test_what_is_transparent_shows_white(tmp_path: Path) -> None:
    half = Image.new("RGBA", (2, 2), (200, 0, 0, 128))
    assert pixel(saved(tmp_path, half, "half.png")) == pytest.approx((227, 127, 127), abs=1)
    assert pixel(saved(tmp_path, Image.new("RGBA", (2, 2), (200, 0, 0, 0)), "none.png")) == (255, 255, 255)
    assert pixel(saved(tmp_path, Image.new("LA", (2, 2), (10, 0)), "gray.png")) == (255, 255, 255)
    assert pixel(saved(tmp_path, Image.new("RGB", (2, 2), (1, 2, 3)), "key.png", transparency=(1, 2, 3))) == (255,) * 3
    palette = Image.new("P", (2, 2), 0)
    palette.putpalette([10, 20, 30, 40, 50, 60])
    assert pixel(saved(tmp_path, palette, "palette.png", transparency=0)) == (255, 255, 255)


def test_of_an_animation_the_first_frame_is_taken(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (4, 4), colour) for colour in ((250, 0, 0), (0, 250, 0))]
    for name in ("moving.gif", "moving.png", "moving.webp"):
        path = saved(tmp_path, frames[0], name, save_all=True, append_images=frames[1:], lossless=True)
        assert pixel(path) == (250, 0, 0)


@pytest.mark.parametrize("name", ["cut.jpg", "cut.png", "cut.gif", "cut.webp"])
def test_truncated_files_are_refused(tmp_path: Path, name: str) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))
    path = saved(tmp_path, noise, name)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    refusal(path)
    if name == "cut.jpg":
        assert "truncated" in refusal(path)


def test_corrupt_and_empty_files_are_refused(tmp_path: Path) -> None:
    for name, content in (("empty.jpg", b""), ("text.jpg", b"no image at all"), ("zeros.png", bytes(1000))):
        (tmp_path / name).write_bytes(content)
        assert "corrupt or of a format that is not read (JPEG" in refusal(tmp_path / name)
    path = saved(tmp_path, photo(20, 20), "flipped.png")
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    path.write_bytes(content)
    refusal(path)


def test_files_that_would_start_a_program_are_not_opened(tmp_path: Path) -> None:
    content = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    (tmp_path / "drawing.jpg").write_bytes(content)
    assert "not read" in refusal(tmp_path / "drawing.jpg")


def png_claiming(path: Path, width: int, height: int) -> Path:
    """Write a small PNG whose head claims a huge picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return path


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 100_000])
def test_decompression_bombs_are_refused_before_they_are_decoded(tmp_path: Path, side: int) -> None:
    before = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    path = png_claiming(tmp_path / "bomb.png", side, side)
    assert f"at most {MAX_PIXELS:,} are decoded" in refusal(path)
    with pytest.raises(DataError, match=r"bomb\.png"):
        picture_size(path)
    assert before == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)


def test_shrunk_decoding_halves_jpegs_and_leaves_others_whole(tmp_path: Path) -> None:
    jpeg, png = saved(tmp_path, photo(65, 90), "a.jpg"), saved(tmp_path, photo(65, 90), "a.png")
    assert open_picture(jpeg, shrink=2).size == (45, 33)
    assert open_picture(jpeg, shrink=8).size == (12, 9)
    assert open_picture(png, shrink=2).size == (90, 65)
