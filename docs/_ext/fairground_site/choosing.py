"""The tables of both papers' results in `docs/choosing.md`, made from the published numbers and never typed.

`PYTHONPATH=docs/_ext python -m fairground_site.choosing` brings the page up to date; a test compares.
"""

from collections.abc import Iterable
from pathlib import Path

from fairground.papers.published_numbers import PublishedRow, published_rows
from fairground_site.markdown import table

PAGE = Path(__file__).parents[2] / "choosing.md"
BEGIN, END = "<!-- begin published -->\n", "<!-- end published -->\n"
#: keeps a number and its spread on one line
NARROW = "\N{NO-BREAK SPACE}"
_SETS = ("cub200", "cars196", "sop")
#: errata of whole tables, which the text tells
_OF_ALL = ("E53", "E59", "E62")
#: rows that show another miner, and rows by which the two papers call one method
_LEFT_OUT = ("random", "semihard", "softhard", "rho")


def published_tables() -> str:
    """Return one table per paper, one row per method: MAP@R of single models in MLRC, Recall@1 in Roth."""
    reality = [
        row for name in ("table4", "table5", "table6") for row in published_rows(f"mlrc2020/{name}", metric="map@r")
    ]
    reality = [row for row in reality if row.setting == "separated" or (not row.method and row.embedding_dim == 128)]
    revisited = [row for row in published_rows("roth2020/table2", metric="recall@1") if _is_plain(row)]
    return "\n".join([_table("MLRC, MAP@R", reality), _table("Roth, Recall@1, best epoch on test", revisited)])


def _table(heading: str, rows: Iterable[PublishedRow]) -> str:
    cells: dict[str, dict[str, str]] = {}
    errata: dict[str, dict[str, None]] = {}
    for row in rows:
        cells.setdefault(_method(row), {})[row.dataset] = row.printed.replace(" ", NARROW)
        errata.setdefault(_method(row), {}).update(dict.fromkeys(row.errata))
    ordered = sorted(cells, key=lambda method: (method != "untrained", method))
    body = (
        [
            _marked(method),
            *(cells[method].get(name, "") for name in _SETS),
            ", ".join(erratum for erratum in errata[method] if erratum not in _OF_ALL),
        ]
        for method in ordered
    )
    return table([heading, *_SETS, "errata"], body)


def with_table(page: str) -> str:
    """Return the page with its table renewed."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{published_tables()}{END}{after}"


def _is_plain(row: PublishedRow) -> bool:
    return not any(word in row.method for word in _LEFT_OUT)


def _method(row: PublishedRow) -> str:
    """Return what tells the rows of one loss apart: the loss, and what its preset adds."""
    if not row.method:
        return "untrained"
    extras = {"per-class": "one beta per class", "miner": "with its miner", "beta06": "beta 0.6", "beta12": "beta 1.2"}
    found = [words for mark, words in extras.items() if mark in row.method.partition("@")[2]]
    return ", ".join([row.loss, *found])


def _marked(method: str) -> str:
    name, comma, rest = method.partition(",")
    return method if name == "untrained" else f"`{name}`{comma}{rest}"


def main(pages: Iterable[Path] = (PAGE,)) -> None:
    """Renew the table on the page."""
    for page in pages:
        page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
