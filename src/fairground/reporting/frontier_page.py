"""The page of a frontier: score against bytes per vector, and every way to keep and compare vectors in a table."""

from pathlib import Path

from fairground import deploy
from fairground.reporting import Bar, Line, Panel, panels, render, show, svg_for_page, write_page

_NAMES = {"prefix": "first numbers", "principal": "principal axes", "random": "random coordinates"}
_COLUMNS = ("vectors", "MAP@R, %", "95 % interval", "Recall@1, %", "bytes searched", "bytes stored", "ms per query")


def frontier_sentence(found: "deploy.Frontier") -> str:
    best, small = found.best, found.smallest
    head = f"The best plain vectors, {_numbers(best)}, have MAP@R {show('map@r', best.score)} % ({_interval(best)})"
    if small == best:
        return f"{head}; no smaller dimension is within that interval."
    return f"{head}; {_numbers(small)} are the smallest within that interval, with {show('map@r', small.score)} %."


def ranges_sentence(found: "deploy.Frontier") -> str:
    """Say what the model's own vectors score in 8 bits by ranges, and which half of that scheme makes it so."""
    own = {one.precision: one.score for one in found.points if one[:2] == found.points[0][:2] and one.rerank == "none"}
    scores = own["float32"], own[deploy.RANGES], found.without_offsets, found.without_scales
    plain, ranges, offsets, scales = (show("map@r", score) for score in scores)
    return (
        f"In 8 bits by a range per coordinate, as other libraries do it, the model's own {found.points[0].dimension} "
        f"numbers have MAP@R {ranges} % instead of {plain} %. Products of such codes leave out the offsets of the "
        f"coordinates, which alone makes it {offsets} %, and their scales, which alone makes it {scales} %."
    )


def write_frontier(found: "deploy.Frontier", *, title: str, out: Path) -> Path:
    keys = [(name, series) for series, name in enumerate(_NAMES.values())]
    draw = panels([_dimensions(found), _other_ways(found)], columns=1, keys=keys, kind="line")
    description = "MAP@R against numbers per vector, and of fewer bits and re-ranked lists, with 95 % intervals"
    page = render(
        "frontier.html",
        title=title,
        sentence=frontier_sentence(found),
        ranges=ranges_sentence(found),
        found=found,
        svg=svg_for_page(draw, (4.2, 8.2), prefix="frontier", description=description),
        columns=_COLUMNS,
        rows=[_cells(one) for one in sorted(found.points, key=lambda one: -one.score)],
    )
    return write_page(page, out)


def _dimensions(found: "deploy.Frontier") -> Panel:
    items = []
    for series, name in enumerate(_NAMES):
        mine = [one for one in found.points if (one.reduction, _way(one)) == (name, "float32")]
        line = sorted(mine, key=lambda one: one.dimension)
        low, high = ([100 * getattr(one.interval, side) for one in line] for side in ("low", "high"))
        across, up = [one.dimension for one in line], [100 * one.score for one in line]
        items.append(Line(across, up, series=series, low=low, high=high))
    return Panel(items, title="Fewer numbers", x="numbers per vector", y="MAP@R, %", log="x")


def _other_ways(found: "deploy.Frontier") -> Panel:
    chosen = dict.fromkeys(one[:2] for one in (found.best, found.smallest, found.points[0]))
    ways = [one for place in chosen for one in found.points if one[:2] == place]
    halves = [50 * (one.interval.high - one.interval.low) for one in ways]
    series = [[*_NAMES].index(one.reduction) for one in ways]
    return Panel(
        [Bar(row, 100 * one.score, series=series[row], error=halves[row]) for row, one in enumerate(ways)],
        title="Fewer bits, and re-ranked",
        x="MAP@R, % (re-ranked: transductive)",
        rows=[f"{one.dimension}, {_way(one).replace(', scored by', ' then')}" for one in ways],
    )


def _way(one: "deploy.FrontierPoint") -> str:
    return one.precision if one.rerank == "none" else one.rerank.replace("_", " ")


def _numbers(one: "deploy.FrontierPoint") -> str:
    return f"{one.dimension} {_NAMES[one.reduction]}"


def _interval(one: "deploy.FrontierPoint") -> str:
    return f"{show('map@r', one.interval.low)} to {show('map@r', one.interval.high)}"


def _cells(one: "deploy.FrontierPoint") -> tuple[str, ...]:
    name = f"{_numbers(one)}, {_way(one)}" + ("" if one.rerank == "none" else " (transductive)")
    scores = show("map@r", one.score), _interval(one), show("recall@1", one.recall)
    time = "" if one.milliseconds is None else f"{one.milliseconds:.2f}"
    return name, *scores, f"{one.bytes_searched:,}", f"{one.bytes_stored:,}", time
