"""From the npm package `@iconify/json` to pictures: which sets may be used, which icon draws what, and how it looks."""

import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

LICENCES = frozenset(
    ["MIT", "Apache-2.0", "ISC", "CC0-1.0", "BSD-3-Clause", "Unlicense", "OFL-1.1", "CC-BY-4.0", "CC-BY-3.0"]
)
CATEGORIES_LEFT_OUT = frozenset(["Logos", "Emoji", "Programming", "Flags / Maps"])
#: brand marks and emoji that the package files under other categories, and drawings on a disc that hides them in gray
SETS_LEFT_OUT = frozenset(["academicons", "fa-brands", "fa6-brands", "fluent-emoji", "streamline-kameleon-color"])
STYLES = re.compile(
    r"\d+(px)?|outlined?|outlines|fill(ed)?|solid|duo(tone)?|twotone|line(ar)?|bold|thin|regular|round(ed)?|sharp|broken|"
    r"flat|remix|o|alt|stroke|bulk|color|expressive|one|two|three|four|five"
)
#: the share of the picture's side that the drawing fills
FILL = 28 / 32
#: the share of that square which ink may cover before the drawing is nothing but a block
BLOCK = 0.9


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One icon of one set, with the concept it draws."""

    concept: str
    source_set: str
    source_name: str
    svg: str


def read_concepts(lines: Iterable[str]) -> dict[str, str]:
    """Return spelling -> concept; a line is a concept's name, then other spellings of the same words."""
    concepts: dict[str, str] = {}
    for line in lines:
        for spelling in (words := line.partition("#")[0].split()):
            if spelling in concepts:
                raise SystemExit(f"'{spelling}' is listed twice, under '{concepts[spelling]}' and '{words[0]}'")
            concepts[spelling] = words[0]
    return concepts


def spelling_of(name: str, *, styles: frozenset[str] = frozenset()) -> str:
    """Return an icon's name without the words that say how it is drawn: 'alarm-clock-24-filled' is 'alarm-clock'.

    `styles` are the words the set itself declares as styles; only those are taken from the front, where a general
    list would turn 'light-bulb' into 'bulb'.
    """
    words = name.lower().split("-")
    while len(words) > 1:
        if words[-1] in styles or STYLES.fullmatch(words[-1]):
            words = words[:-1]
        elif words[-2:] == ["two", "tone"] and len(words) > 2:
            words = words[:-2]
        elif words[0] in styles:
            words = words[1:]
        else:
            break
    return "-".join(words)


def usable_sets(collections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sets with a licence that lets us ship their drawings, without logos, emoji, flags and animations."""
    return {
        prefix: facts
        for prefix, facts in sorted(collections.items())
        if facts["license"].get("spdx") in LICENCES
        and facts.get("category") not in CATEGORIES_LEFT_OUT
        and prefix not in SETS_LEFT_OUT
        and "Contains Animations" not in facts.get("tags", ())
    }


def declared_styles(icon_set: Mapping[str, Any]) -> frozenset[str]:
    """Return the words a set declares as prefixes and suffixes of style."""
    declared = [*(icon_set.get("prefixes") or ()), *(icon_set.get("suffixes") or ())]
    return frozenset(word for entry in declared for word in entry.split("-") if word)


def drawings_of(prefix: str, icon_set: Mapping[str, Any], concepts: Mapping[str, str]) -> Iterator[Drawing]:
    """Yield one drawing a concept: of the styles a set offers, the one whose hash comes first, to vary the styles."""
    styles = declared_styles(icon_set)
    offered: defaultdict[str, list[str]] = defaultdict(list)
    for name, icon in icon_set["icons"].items():
        # Hidden icons were withdrawn by their set; animations and text do not render to the drawing people see.
        if not icon.get("hidden") and not re.search(r"<(animate|text|image)", icon["body"]):
            concept = concepts.get(spelling_of(name, styles=styles))
            if concept is not None:
                offered[concept].append(name)
    for concept, names in sorted(offered.items()):
        name = min(names, key=lambda name: digest(f"{prefix}:{name}"))
        yield Drawing(concept=concept, source_set=prefix, source_name=name, svg=nested_svg(icon_set, name))


def nested_svg(icon_set: Mapping[str, Any], name: str) -> str:
    """Return the icon as an inner <svg> of side 1, centred on the origin, black, and clipped to its own canvas."""
    icon = icon_set["icons"][name]
    left, top, width, height = (
        icon.get(key, icon_set.get(key, default))
        for key, default in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
    )
    body = icon["body"].replace("currentColor", "#000")
    return f'<svg x="-.5" y="-.5" width="1" height="1" viewBox="{left} {top} {width} {height}">{body}</svg>'


def render(svg: str, *, size: int) -> np.ndarray | None:
    """Return the drawing as (size, size) uint8, ink bright on black, cropped to its ink; None when blank or a block."""
    coarse = 4 * size
    box = ink_box(_render_view(svg, left=-0.5, top=-0.5, side=1, size=coarse))
    if box is None:
        return None
    left, top, right, bottom = (edge / coarse - 0.5 for edge in box)
    side = max(right - left, bottom - top) / FILL
    view = {"left": (left + right - side) / 2, "top": (top + bottom - side) / 2, "side": side}
    image = brightened(_render_view(svg, **view, size=size))
    return None if image.mean() > 255 * BLOCK * FILL**2 else image


def renderer() -> str:
    """Return the version of the renderer, or leave with the line that installs it."""
    try:
        import resvg_py  # only needed to build, and not in the environment the tests run in
    except ImportError:
        raise SystemExit("the renderer is missing: pip install 'fairground[icons]'") from None
    return str(resvg_py.__version__)


def _render_view(svg: str, *, left: float, top: float, side: float, size: int) -> np.ndarray:
    import resvg_py

    view = f"{left:.5f} {top:.5f} {side:.5f} {side:.5f}"
    namespaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    whole = f'<svg {namespaces} width="{size}" height="{size}" viewBox="{view}">{svg}</svg>'
    png = bytes(resvg_py.svg_to_bytes(svg_string=whole, background="#fff", skip_system_fonts=True))
    return 255 - np.asarray(Image.open(io.BytesIO(png)).convert("L"))


def ink_box(image: np.ndarray, *, faintest: int = 16) -> tuple[int, int, int, int] | None:
    """Return (left, top, right, bottom) of the ink, or None when there is none."""
    rows, columns = np.nonzero(image >= faintest)
    if len(rows) == 0:
        return None
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


def brightened(image: np.ndarray) -> np.ndarray:
    """Return the image with its brightest ink at 255, so that pale and thin drawings can be seen."""
    return (image.astype(np.uint32) * 255 // max(int(image.max()), 1)).astype(np.uint8)


def digest(text: str) -> str:
    """Return the SHA-256 of a text: what stands for chance here, the same in every build."""
    return hashlib.sha256(text.encode()).hexdigest()
