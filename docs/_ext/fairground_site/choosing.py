"""The table of both papers' results in `docs/choosing.md`, made from the published numbers and never typed.

`PYTHONPATH=docs/_ext python -m fairground_site.choosing` brings the page up to date; a test compares.
"""

from collections.abc import Iterable
from pathlib import Path

from fairground.records.published import PublishedRow, published_rows
from fairground_site.markdown import table

PAGE = Path(__file__).parents[2] / "choosing.md"
BEGIN, END = "<!-- begin published -->\n", "<!-- end published -->\n"
#: keeps a number and its spread on one line
NARROW = "\N{NO-BREAK SPACE}"
_SETS = ("cub200", "cars196", "sop")
#: rows that show another miner, and rows by which the two papers call one method
_LEFT_OUT = ("random", "semihard", "softhard", "rho")


def published_table() -> str:
    """Return one line a method: MAP@R in MLRC (single models), then Recall@1 in Roth."""
    sets = dict(zip(("table4", "table5", "table6"), _SETS, strict=True))
    reality = [row for name in sets for row in published_rows(f"mlrc2020/{name}", metric="map@r")]
    reality = [
        row
        for row in reality
        if row.setting == "separated" or (row.setting == "untrained" and row.embedding_dim == 128)
    ]
    revisited = [row for row in published_rows("roth2020/table2", metric="recall@1") if _is_plain(row)]
    cells: dict[str, dict[str, str]] = {}
    for paper, rows in (("mlrc", reality), ("roth", revisited)):
        for row in rows:
            cells.setdefault(_method(row), {})[f"{paper} {row.dataset}"] = row.printed.replace(" ", NARROW)
    ordered = sorted(cells, key=lambda method: (method != "untrained", method))
    columns = [f"{paper} {name}" for paper in ("mlrc", "roth") for name in _SETS]
    body = ([_link(method), *(cells[method].get(column, "") for column in columns)] for method in ordered)
    return table(["method", *(f"MLRC {name}" for name in _SETS), *(f"Roth {name}" for name in _SETS)], body)


def with_table(page: str) -> str:
    """Return the page with its table renewed."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{published_table()}{END}{after}"


def _is_plain(row: PublishedRow) -> bool:
    return not any(word in row.method for word in _LEFT_OUT)


def _method(row: PublishedRow) -> str:
    """Return what tells the rows of one loss apart: the loss, and what its preset adds."""
    if not row.method:
        return "untrained"
    extras = {"per-class": "one beta a class", "miner": "with its miner", "beta06": "beta 0.6", "beta12": "beta 1.2"}
    found = [words for mark, words in extras.items() if mark in row.method.partition("@")[2]]
    return ", ".join([row.loss, *found])


def _link(method: str) -> str:
    name, comma, rest = method.partition(",")
    return method if name == "untrained" else f"`{name}`{comma}{rest}"


def main(pages: Iterable[Path] = (PAGE,)) -> None:
    """Renew the table on the page."""
    for page in pages:
        page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
