"""What an audit of the data found, read from the JSON that `fairground data check --json` prints."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.errors import DataError, require
from fairground.files import read_json
from fairground.reporting.headings import clean, shorten

#: what a reader sees for the names of an audit's numbers
_WORDS = {
    "ratio": "largest/smallest",
    "gini": "Gini",
    "of_one_image": "classes of one image",
    "shorter_side_smallest": "shorter side from",
    "shorter_side_median": "median",
    "longer_side_largest": "longer side up to",
    "distinct_sizes": "different sizes",
}


@dataclass(frozen=True, kw_only=True)
class AuditCard:
    """`facts` by name; `failures` are sentences that forbid a conclusion, `notes` the rest."""

    title: str
    counts: Mapping[str, str]
    failures: tuple[str, ...]
    notes: tuple[str, ...]


def read_audit(path: Path) -> AuditCard:
    """Return the card of an audit, refusing a file that is none."""
    hint = f"{path} is no audit: write one with `fairground data check --json`"
    try:
        data = read_json(path, error=DataError)
    except DataError as error:
        raise DataError(f"{hint} ({error})") from error
    require("n_images" in data, hint, DataError)
    try:
        return audit_card(data, title=path.stem)
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path} is damaged: {error}") from error


def audit_card(data: Mapping[str, Any], *, title: str) -> AuditCard:
    """Return the card of an audit's plain data."""
    return AuditCard(
        title=clean(title),
        counts={name: shorten(text, 200) for name, text in _counts(data)},
        failures=tuple(shorten(str(text), 500) for text in data.get("failures") or ()),
        notes=tuple(shorten(str(text), 500) for text in data.get("notes") or ()),
    )


def _counts(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "images", f"{data['n_images']}"
    yield "classes", f"{data.get('n_classes', '?')}"
    parts = data.get("parts")
    for name, counts in parts.items() if isinstance(parts, dict) else ():
        yield clean(str(name)), " / ".join(str(count) for count in counts) + " images / classes"
    for key, word in (("class_sizes", "images a class"), ("image_sizes", "image sizes")):
        if isinstance(data.get(key), dict):
            yield word, ", ".join(f"{_WORDS.get(name, name)} {_number(value)}" for name, value in data[key].items())
    yield "unreadable", f"{data.get('unreadable', '?')}"
    for key, word in (("duplicates", "exact copies"), ("near_duplicates", "near copies")):
        if isinstance(data.get(key), dict):
            numbers = {name: value for name, value in data[key].items() if isinstance(value, int)}
            yield word, ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in numbers.items())
    if data.get("is_closed_set"):
        yield "split", "closed set: the test classes were trained on"


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
