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


def test_words_that_a_set_declares_as_styles_are_taken_off_both_ends():
    styles = icon_drawings.declared_styles(
        {"prefixes": {"baseline": "Baseline"}, "suffixes": {"": "", "24-light": "L"}}
    )
    assert styles == {"baseline", "24", "light"}
    assert icon_drawings.spelling_of("baseline-anchor", styles=styles) == "anchor"
    assert icon_drawings.spelling_of("anchor-24-light", styles=styles) == "anchor"


def test_only_free_sets_without_logos_emoji_and_animations_are_used():
    def facts(spdx="MIT", category="Material", tags=()):
        return {"license": {"spdx": spdx}, "category": category, "tags": list(tags)}

    collections = {
        "b": facts(),
        "a": facts("CC-BY-4.0"),
        "no-category": {"license": {"spdx": "ISC"}},
        "share-alike": facts("CC-BY-SA-4.0"),
        "copyleft": facts("GPL-3.0"),
        "unnamed": {"license": {"title": "Custom"}},
        "logos": facts(category="Logos"),
        "moving": facts(tags=["Contains Animations"]),
        "fa6-brands": facts(),
    }
    assert list(icon_drawings.usable_sets(collections)) == ["a", "b", "no-category"]


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


def test_the_list_of_concepts_names_each_once_and_in_order():
    lines = (SCRIPTS / "icon_concepts.txt").read_text(encoding="utf-8").splitlines()
    concepts = icon_drawings.read_concepts(lines)
    names = list(dict.fromkeys(concepts.values()))
    assert names == sorted(names)
    # A spelling says the same words as its concept, in another order or written as one: never a synonym.
    for spelling, name in concepts.items():
        assert sorted(spelling.replace("-", "")) == sorted(name.replace("-", ""))


def test_the_ink_box_ends_after_the_last_ink():
    image = np.zeros((8, 8), np.uint8)
    assert icon_drawings.ink_box(image) is None
    image[2, 3] = image[4, 5] = 200
    image[7, 7] = 15
    assert icon_drawings.ink_box(image) == (3, 2, 6, 5)


def test_the_brightest_ink_becomes_white():
    assert icon_drawings.brightened(np.array([[0, 10, 50, 100]], np.uint8)).tolist() == [[0, 25, 127, 255]]
    assert icon_drawings.brightened(np.zeros((1, 2), np.uint8)).tolist() == [[0, 0]]


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


def test_classes_are_cut_at_the_most_and_left_out_below_the_least():
    images = np.stack([bars(0), bars(1), bars(2), bars(3), bars(0, 2), bars(0)])
    concepts = np.array(["bell", "bell", "anchor", "bell", "cat", "bell"])
    assert build_icons.chosen(images, concepts, least=2, most=75) == [0, 1, 3]
    assert build_icons.chosen(images, concepts, least=1, most=2) == [2, 0, 1, 4]


def test_a_concept_keeps_its_half_in_every_build():
    # SHA-256 of "anchor" begins with 7, of "bell" with f, of "bus" with 0: below 8 trains.
    assert [build_icons.half_of(name) for name in ("anchor", "bell", "bus")] == [0, 1, 0]


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


def test_help_teaches_and_wrong_calls_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        build_icons.main(["--help"])
    assert "npm pack @iconify/json@" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        build_icons.main(["--source", str(tmp_path), "--large"])
    assert "--large needs --out" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        build_icons.main(["--source", str(tmp_path)])
    assert "is not an unpacked @iconify/json: it has no collections.json" in capsys.readouterr().err
    (tmp_path / "collections.json").write_text("{}")
    with pytest.raises(SystemExit):
        build_icons.main(["--source", str(tmp_path), "--out", str(tmp_path / "nowhere" / "icons.npz")])
    assert "there is no folder" in capsys.readouterr().err
