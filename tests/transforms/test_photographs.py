"""The papers' pipelines: evaluation equal to Pillow by hand in every pixel, training by the numbers of each paper."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from fairground.contracts import IMAGENET, Images, Preprocessing, Transform
from fairground.loading import ImageFiles, PreparedImages
from fairground.transforms import Mlrc2020Transform, PhotographsTransform, PlainTransform, Roth2020Transform
from tests.loading.pictures import photo_files

SIZES = [(300, 401), (350, 256), (120, 90)]
ROWS = np.array([1, 2, 0])
#: gives back the pixels as they are
RAW = Preprocessing(mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0), scale=1.0)
BN_INCEPTION = Preprocessing(mean=(104.0, 117.0, 128.0), deviation=(1.0, 1.0, 1.0), scale=1.0, order="bgr")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return photo_files(tmp_path_factory.mktemp("photographs"), SIZES)


@pytest.fixture
def images(paths: list[Path]) -> Images:
    return ImageFiles(paths, root=paths[0].parent)


def by_hand(paths: list[Path], side: int, shorter_side: int = 256) -> np.ndarray:
    """Resize and cut with Pillow, the way the papers' pipelines are described."""
    found = []
    for row in ROWS:
        image = Image.open(paths[row]).convert("RGB")
        width, height = image.size
        size = (int(shorter_side * width / height), shorter_side)
        if width < height:
            size = (shorter_side, int(shorter_side * height / width))
        image = image if min(width, height) == shorter_side else image.resize(size, Image.Resampling.BILINEAR)
        left, top = round((image.width - side) / 2), round((image.height - side) / 2)
        found.append(np.asarray(image.crop((left, top, left + side, top + side))))
    return np.stack(found)


class Watched(Images):
    """Writes down what a transform asks for and gives flat pictures."""

    channels = 3

    def __init__(self, images: Images) -> None:
        self.images = images
        self.asked: list[tuple[np.ndarray, int, int | None]] = []

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: np.ndarray) -> Tensor:
        raise AssertionError

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        return self.images.sizes(rows, shorter_side=shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        self.asked.append((boxes, side, shorter_side))
        flat = torch.arange(side, dtype=torch.uint8).expand(len(rows), 3, side, side)
        return flat.contiguous(memory_format=torch.channels_last)

    def fingerprint(self) -> str:
        return ""


def boxes_drawn(transform: Transform, images: Images, n: int) -> tuple[np.ndarray, int, int | None, Tensor]:
    watched = Watched(images)
    found = transform.train(watched, np.zeros(n, np.int64), torch.Generator().manual_seed(0))
    return *watched.asked[0], found


@pytest.mark.parametrize(
    ("transform", "side"),
    [
        (Roth2020Transform(preprocessing=RAW), 224),
        (Roth2020Transform(preprocessing=RAW, variant="red"), 224),
        (Roth2020Transform(preprocessing=RAW, variant="big"), 256),
        (Roth2020Transform(preprocessing=RAW, variant="adv"), 224),
        (Roth2020Transform(preprocessing=RAW, side=227), 227),
        (Mlrc2020Transform(preprocessing=RAW), 227),
        (PlainTransform(preprocessing=RAW), 224),
        (PhotographsTransform(preprocessing=RAW), 224),
    ],
)
def test_evaluation_is_pillows_resize_and_centre_crop_in_every_pixel(
    transform: Transform, side: int, paths: list[Path], images: Images
) -> None:
    found = transform.evaluate(images, ROWS).permute(0, 2, 3, 1).numpy()
    assert found.dtype == np.float32
    assert np.array_equal(found, by_hand(paths, side))


def test_the_cache_gives_the_same_evaluation_and_mlrc_training(
    paths: list[Path], images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path))
    cached = PreparedImages(ImageFiles(paths, root=paths[0].parent), side=256)
    for transform in (Roth2020Transform(preprocessing=IMAGENET), Mlrc2020Transform(preprocessing=IMAGENET)):
        assert torch.equal(transform.evaluate(images, ROWS), transform.evaluate(cached, ROWS))
    for transform in (
        Roth2020Transform(preprocessing=IMAGENET, variant="red"),
        Mlrc2020Transform(preprocessing=IMAGENET),
    ):
        one, other = (transform.train(source, ROWS, torch.Generator().manual_seed(2)) for source in (images, cached))
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("transform", "side", "resized", "area", "ratio"),
    [
        (Roth2020Transform(preprocessing=RAW), 224, None, 0.08, (3 / 4, 4 / 3)),
        (Roth2020Transform(preprocessing=RAW, variant="big"), 256, None, 0.08, (3 / 4, 4 / 3)),
        (Roth2020Transform(preprocessing=RAW, variant="adv", side=16), 16, None, 0.08, (3 / 4, 4 / 3)),
        (Mlrc2020Transform(preprocessing=RAW), 227, 256, 0.16, (0.75, 1.33)),
    ],
)
def test_training_boxes_have_the_papers_numbers(
    transform: Transform, side: int, resized: int | None, area: float, ratio: tuple[float, float], images: Images
) -> None:
    boxes, asked_side, asked_resized, _ = boxes_drawn(transform, images, 400)
    assert (asked_side, asked_resized) == (side, resized)
    height, width = images.sizes(np.array([0]), shorter_side=resized)[0]
    wide, high = (boxes[:, 2:] - boxes[:, :2]).T
    shares, ratios = wide * high / (height * width), wide / high
    assert shares.min() == pytest.approx(area, abs=0.02)
    assert shares.max() > 0.9
    assert ratio[0] * 0.97 < ratios.min() < ratio[0] * 1.03
    assert ratio[1] * 0.97 < ratios.max() < ratio[1] * 1.03


def test_adv_turns_a_fifth_gray_and_jitters_colours(images: Images) -> None:
    rows = np.zeros(300, np.int64)
    transform = Roth2020Transform(preprocessing=RAW, variant="adv", side=16, shorter_side=16)
    found = transform.train(images, rows, torch.Generator().manual_seed(0))
    is_gray = ((found[:, 0] == found[:, 1]) & (found[:, 1] == found[:, 2])).flatten(1).all(1)
    assert is_gray.float().mean().item() == pytest.approx(0.2, abs=0.08)
    plain = Roth2020Transform(preprocessing=RAW, side=16, shorter_side=16)
    assert not torch.equal(found, plain.train(images, rows, torch.Generator().manual_seed(0)))


def test_preprocessing_comes_last(paths: list[Path], images: Images) -> None:
    raw = by_hand(paths, 227).astype(np.float64)
    found = Mlrc2020Transform(preprocessing=BN_INCEPTION).evaluate(images, ROWS).permute(0, 2, 3, 1).numpy()
    assert np.allclose(found, raw[..., ::-1] - [104, 117, 128])
    found = Mlrc2020Transform(preprocessing=IMAGENET).evaluate(images, ROWS).permute(0, 2, 3, 1).numpy()
    wanted = (raw / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    assert np.allclose(found, wanted, atol=1e-5)


def test_the_general_pipeline_becomes_each_papers(images: Images) -> None:
    pairs = [
        (Roth2020Transform(preprocessing=RAW), PhotographsTransform(preprocessing=RAW, smallest_area=0.08)),
        (
            Mlrc2020Transform(preprocessing=RAW),
            PhotographsTransform(preprocessing=RAW, side=227, resize_first=True, widest=1.33),
        ),
        (
            Roth2020Transform(preprocessing=RAW, variant="adv"),
            PhotographsTransform(
                preprocessing=RAW, smallest_area=0.08, gray=0.2, brightness=0.2, contrast=0.2, saturation=0.2, hue=0.2
            ),
        ),
    ]
    for paper, general in pairs:
        one, other = (each.train(images, ROWS, torch.Generator().manual_seed(1)) for each in (paper, general))
        assert torch.equal(one, other)


def test_plain_passes_features_and_never_augments(images: Images) -> None:
    class Features(Watched):
        is_picture = False

        def take(self, rows: np.ndarray) -> Tensor:
            return torch.arange(6.0, dtype=torch.float16).view(3, 2)[torch.from_numpy(rows)]

    plain = PlainTransform(preprocessing=IMAGENET)
    found = plain.train(Features(images), np.array([2, 0]), torch.Generator())
    assert (found.dtype, found.tolist()) == (torch.float32, [[4.0, 5.0], [0.0, 1.0]])
    assert torch.equal(plain.train(images, ROWS, torch.Generator()), plain.evaluate(images, ROWS))
