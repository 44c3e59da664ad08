"""The parts of the icons build that need neither the npm package nor the renderer."""

import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import build_icons  # noqa: E402
import icon_drawings  # noqa: E402


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("anchor", "anchor"),
        ("alarm-clock-24-filled", "alarm-clock"),
        ("bell-outline-24px", "bell"),
        ("camera-two-tone", "camera"),
        ("shopping-cart-02", "shopping-cart"),
        ("bold", "bold"),
        ("light-bulb", "light-bulb"),
    ],
)
def test_words_of_style_are_taken_off_a_name(name, spelling):
    assert icon_drawings.spelling_of(name) == spelling


def test_a_set_gives_one_drawing_a_concept_and_nothing_withdrawn_or_moving():
    icon_set = {
        "width": 24,
        "height": 20,
        "icons": {
            "bell": {"body": '<path fill="currentColor"/>'},
            "bell-filled": {"body": '<path fill="currentColor"/>'},
            "anchor-line": {"body": "<path/>", "width": 30, "left": 2},
            "anchor": {"body": "<path/>", "hidden": True},
            "cat": {"body": "<path><animate/></path>"},
            "dog": {"body": "<text>dog</text>"},
            "unlisted": {"body": "<path/>"},
        },
    }
    concepts = {name: name for name in ("anchor", "bell", "cat", "dog")}
    drawings = list(icon_drawings.drawings_of("mine", icon_set, concepts))
    assert [drawing.concept for drawing in drawings] == ["anchor", "bell"]
    assert drawings[0].source_name == "anchor-line"
    assert 'viewBox="2 0 30 20"' in drawings[0].svg
    assert drawings[1].source_name in ("bell", "bell-filled")
    assert '<path fill="#000"/>' in drawings[1].svg
    assert drawings == list(icon_drawings.drawings_of("mine", icon_set, concepts))


def bars(*columns, brightness=255):
    image = np.zeros((4, 4), np.uint8)
    image[:, list(columns)] = brightness
    return image


def test_a_copy_is_dropped_and_the_first_of_its_kind_stays():
    # (0, 1) and (0, 1, 2): 2 / sqrt(2 * 3) = 0.816; a paler drawing has cosine 1 with itself.
    images = np.stack([bars(0, 1), bars(0, 1, brightness=90), bars(0, 1, 2), bars(3)])
    assert build_icons.without_copies(images, copy=0.8) == [0, 3]
    assert build_icons.without_copies(images, copy=0.82) == [0, 2, 3]
