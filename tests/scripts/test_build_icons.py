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
        ("Anchor", "anchor"),
        ("alarm-clock-24-filled", "alarm-clock"),
        ("bell-outline-24px", "bell"),
        ("camera-two-tone", "camera"),
        ("camera-one", "camera"),
        ("shopping-cart-02", "shopping-cart"),
        ("bold", "bold"),
        ("bold-duotone", "bold"),
        ("light-bulb", "light-bulb"),
        ("traffic-light", "traffic-light"),
        ("battery-charging", "battery-charging"),
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


def test_concepts_are_read_with_their_spellings():
    assert icon_drawings.read_concepts(["# all of them", "", "pie-chart chart-pie  # one", "bell"]) == {
        "pie-chart": "pie-chart",
        "chart-pie": "pie-chart",
        "bell": "bell",
    }
    with pytest.raises(SystemExit, match="'bell' is listed twice, under 'bell' and 'gong'"):
        icon_drawings.read_concepts(["bell", "gong bell"])


def bars(*columns, brightness=255):
    image = np.zeros((4, 4), np.uint8)
    image[:, list(columns)] = brightness
    return image


def test_a_copy_is_dropped_and_the_first_of_its_kind_stays():
    # (0, 1) and (0, 1, 2): 2 / sqrt(2 * 3) = 0.816; a paler drawing has cosine 1 with itself.
    images = np.stack([bars(0, 1), bars(0, 1, brightness=90), bars(0, 1, 2), bars(3)])
    assert build_icons.without_copies(images, copy=0.8) == [0, 3]
    assert build_icons.without_copies(images, copy=0.82) == [0, 2, 3]


def test_a_drawing_under_two_concepts_is_dropped_from_both():
    images = np.stack([bars(0), bars(1), bars(0), bars(2), bars(2)])
    labels = np.array(["anchor", "anchor", "bell", "bell", "bell"])
    for block in (1, 2, 1024):
        assert build_icons.without_shared(images, labels, block=block) == [1, 3, 4]


def test_the_attribution_counts_the_images_of_every_set_and_says_where_to_look(tmp_path):
    full = {
        "name": "Icons, Inc.",
        "author": {"name": "Ann", "url": "https://ann.example"},
        "license": {"spdx": "MIT", "url": "https://ann.example/licence"},
    }
    bare = {"name": "Bare", "author": {"name": "Bob"}, "license": {"spdx": "ISC"}}
    collections = {"full": full, "bare": bare, "unused": full}
    build_icons.write_attribution(tmp_path / "a.csv", collections, ["full", "bare", "full"], "1.2.3")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines() == [
        "prefix,name,author,licence,licence_url,url,n_images,package",
        "bare,Bare,Bob,ISC,https://spdx.org/licenses/ISC.html,https://icon-sets.iconify.design/bare/,1,"
        "@iconify/json@1.2.3",
        'full,"Icons, Inc.",Ann,MIT,https://ann.example/licence,https://ann.example,2,@iconify/json@1.2.3',
    ]
