"""Where the text of a paper and its released code differ, setting by setting: `papers/tables/text_and_code.csv`."""

import csv
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from fairground.spec import PAPER_OF, RunSpec, Value, parse_override, require

Reading = Literal["text", "code"]
_FILE = Path(__file__).parents[1] / "papers" / "tables" / "text_and_code.csv"


class Difference(NamedTuple):
    """What `text` and `code` of a paper have for a setting of runs whose `part` is `name`, if `when` is so too.

    An empty `text` does not say. Without a setting there is no choice: the text is misprinted, or cannot be followed.
    """

    paper: str
    part: str
    name: str
    setting: str
    text: str
    code: str
    erratum: str
    when: str

    def value(self, reading: Reading) -> Value:
        return parse_override(f"{self.setting}={getattr(self, reading)}")[1]


@cache
def _differences() -> tuple[Difference, ...]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(Difference(**line) for line in csv.DictReader(file, strict=True))


def differences(spec: RunSpec) -> list[Difference]:
    """Return the differences that bear on a run under the protocol of a paper."""
    paper = spec.protocol.partition("-")[0]
    rows = [row for row in _differences() if row.paper == paper and _is_named(spec, f"{row.part}={row.name}")]
    return [row for row in rows if not row.when or _is_named(spec, row.when)]


def _is_named(spec: RunSpec, word: str) -> bool:
    part, _, name = word.partition("=")
    return getattr(getattr(spec, part), "name", None) == name


def settings_as(reading: Reading, spec: RunSpec) -> dict[str, Value]:
    """Return the settings that make a run follow the text or the code; of an untrained one, those that it uses."""
    known = ", ".join(PAPER_OF.values())
    is_paper = spec.protocol.partition("-")[0] in PAPER_OF.values()
    require(is_paper, f"settings = '{reading}' is for the protocols of a paper ({known}); got {spec.protocol}")
    used = "" if spec.training.epochs else ("transform.", "evaluation.")
    rows = [row for row in differences(spec) if row.setting.startswith(used) and row.setting and getattr(row, reading)]
    return {row.setting: row.value(reading) for row in rows}


def text_of_preset(paper: str, names: tuple[tuple[str, str], ...]) -> dict[str, Value]:
    """Return what the text of a paper has for the parts of a preset, given as pairs of part and name."""
    rows = [row for row in _differences() if row.paper == paper and (row.part, row.name) in names]
    return {row.setting: row.value("text") for row in rows if row.setting and row.text}
