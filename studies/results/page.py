"""A page of results: question, what counts as holding, verdicts, tables, figures, cost and limits, as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Literal, Protocol

from studies.results.arithmetic import Mean
from studies.results.records import ExportedRun

from fairground.reporting.drawing import Draw, Size, write_figure

Verdict = Literal["holds", "does not hold", "no difference", "the opposite holds", "cannot tell"]
#: when the rules of all pages were written, as git shows it, and what they share
RULE = "rule of the second edition, 18 November 2026, written after these runs; the first edition's was written {fixed}"
#: data sets in the order of the pages, and what is trained on them
DATA = {
    "cub200": "CUB-200-2011, head on frozen features",
    "cars196": "Cars196, head on frozen features",
    "pets": "Oxford pets, head on frozen features",
    "fruits360": "Fruits-360, head on frozen features",
    "icons": "icons, network from scratch",
    "flowers102": "Flowers-102, head on frozen features",
    "gtsrb": "GTSRB, head on frozen features",
    "esc50": "ESC-50, head on simple features of sounds",
    "clinc150": "CLINC150, head on simple features of sentences",
    "omniglot": "Omniglot, head on frozen features",
    "groceries": "groceries, head on frozen features",
    "audiomnist": "AudioMNIST, head on simple features of sounds",
    "cub200_photographs": "CUB-200-2011 photographs, network fine-tuned",
    "cars196_photographs": "Cars196 photographs, network fine-tuned",
}
#: Oxford pets ranks nothing: with 14 training classes its validation and test orders of methods disagree
RANKED = {name: title for name, title in DATA.items() if name != "pets"}
NO_PETS = (
    "Oxford pets is left out: it has 14 training classes, few validation classes and hardly anything to gain, so that "
    "the order of methods on validation classes says nothing about that on test classes."
)
SHORT = {
    "cub200": "CUB",
    "cars196": "Cars",
    "pets": "pets",
    "fruits360": "fruits",
    "icons": "icons",
    "flowers102": "Flowers",
    "gtsrb": "GTSRB",
    "esc50": "ESC-50",
    "clinc150": "CLINC150",
    "omniglot": "Omniglot",
    "groceries": "groceries",
    "audiomnist": "AudioMNIST",
    "cub200_photographs": "CUB photographs",
    "cars196_photographs": "Cars photographs",
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The verdict on one data set, with the number that decides in its sentence."""

    data: str
    verdict: Verdict
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure: its file's name, what it shows in a sentence, and how it is drawn."""

    name: str
    caption: str
    draw: Draw
    size: Size


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading, and text or a table below it."""

    heading: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """One claim. `runs` are all runs it rests on, those of the search too; `short` is its line on the first page.

    `fixed` says when the first edition's rule was written, as git shows it; `headline` is for the project's README, if
    it is one of its findings.
    """

    name: str
    title: str
    question: str
    source: str
    counts: str
    short: str
    answers: Sequence[Answer]
    sections: Sequence[Section]
    pictures: Sequence[Picture]
    limits: Sequence[str]
    studies: Sequence[str]
    fixed: str
    is_first_edition: bool = True
    runs: Sequence[ExportedRun] = field(repr=False)
    headline: str = ""

    @property
    def verdicts(self) -> str:
        """The verdicts in one line: "it helps: holds (CUB, icons), cannot tell (Cars); it costs: holds (CUB)"."""
        found: dict[str, dict[str, list[str]]] = {}
        for answer in self.answers:
            name, _, part = answer.data.partition(": ")
            is_set = part or name in SHORT
            names = found.setdefault(part if is_set else name, {}).setdefault(answer.verdict, [])
            names += [SHORT.get(name, name)] if is_set else []
        return "; ".join(f"{part}: {_verdicts(one)}" if part else _verdicts(one) for part, one in found.items())

    def write(self, folder: Path) -> None:
        """Write the page and its figures."""
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        for picture in self.pictures:
            write_figure(picture.draw, picture.size, folder / "figures" / f"{picture.name}.svg")
        (folder / f"{self.name}.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        """Return the page."""
        lines = [f"# {self.title}", "", f"**Question.** {self.question}", "", f"**Claim.** {self.source}", ""]
        rule = RULE.format(fixed=self.fixed) if self.is_first_edition else f"rule written {self.fixed}"
        lines += [f"**What counts** ({rule}): {self.counts}", "", "## Verdict", ""]
        lines += [f"- {DATA.get(one.data, one.data)}: **{one.verdict}**. {one.sentence}" for one in self.answers]
        for picture in self.pictures:
            lines += ["", f"![{picture.caption}](figures/{picture.name}.svg)", "", f"*{picture.caption}*"]
        for section in self.sections:
            lines += ["", f"## {section.heading}", "", section.text]
        lines += ["", "## Cost", "", cost_sentence(self.runs), "", "## Limits", ""]
        lines += [f"- {limit}" for limit in self.limits]
        names = ", ".join(f"`{study}`" for study in self.studies)
        lines += ["", f"Made by `make results` from the records of {names} in `docs/results/records`.", ""]
        return "\n".join(lines)


def _verdicts(found: Mapping[Verdict | str, Sequence[str]]) -> str:
    return ", ".join(f"**{verdict}**{f' ({listed(names)})' if names else ''}" for verdict, names in found.items())


def listed(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence: "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def verdict_of(*, holds: bool, fails: bool) -> Verdict:
    """Return the verdict of a rule that may decide neither way."""
    return "holds" if holds else "does not hold" if fails else "cannot tell"


class HasInterval(Protocol):
    """What has both ends of an interval."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def above(found: HasInterval, line: float) -> Verdict:
    """Return the verdict on a claim that something is above a line, by its interval."""
    return verdict_of(holds=found.low > line, fails=found.high < line)


def in_parts(name: str, said: Iterable[tuple[str, Verdict, str]]) -> list[Answer]:
    """Return the answers on one data set to a claim of several parts: what is claimed, verdict, sentence."""
    return [Answer(data=f"{SHORT[name]}: {part}", verdict=verdict, sentence=text) for part, verdict, text in said]


def effect_of(change: Mean, line: float) -> Verdict:
    """Return the verdict on a claimed rise: an interval within the line that matters on both sides is no difference."""
    if -line < change.low and change.high < line:
        return "no difference"
    return "holds" if change.low > 0 else "the opposite holds" if change.high < 0 else "cannot tell"


def effect_rule(what: str, n: int) -> str:
    """Return the rule of `effect_of` in words, for a page with `n` verdicts."""
    at_once = f"; the {n} intervals of this page hold at once at 95 %" if n > 1 else ""
    return (
        f"{what}. It holds if the interval of the mean is above 0, the opposite holds if it is below, and there is "
        "no difference that matters if it is within a tenth of what the best method of C1 gains over the untrained "
        f"network on that data; otherwise these runs cannot tell{at_once}."
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_text: int = 1) -> str:
    """Return a Markdown table; the first `n_text` columns are text, the others are numbers."""
    marks = ["---" if place < n_text else "---:" for place in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, marks, *rows))


def cpu_hours(runs: Sequence[ExportedRun]) -> float:
    """Return the processor hours of some runs; one that was not counted is taken for the mean of its kind."""
    seconds = 0.0
    for kind in {(run.study, run.kind) for run in runs}:
        alike = [run for run in runs if (run.study, run.kind) == kind]
        counted = [run.cpu_seconds for run in alike if run.cpu_seconds > 0]
        mean = fmean(counted) if counted else fmean(run.wall_seconds for run in alike)
        seconds += sum(run.cpu_seconds or mean for run in alike)
    return seconds / 3600


def cost_sentence(runs: Sequence[ExportedRun]) -> str:
    """Return what some runs cost, in words."""
    n_trials = sum(run.kind == "trial" for run in runs)
    n_final = len(runs) - n_trials
    return (
        f"{cpu_hours(runs):.2f} CPU hours on one thread each: {n_trials} runs of the search and {n_final} after "
        "selection. Runs "
        "that several claims share are counted on each page."
    )


def points(value: float) -> str:
    """Return a share of one in per cent, as tables have it."""
    return f"{_percent(value):.2f}"


def signed(value: float) -> str:
    """Return a difference of shares in points, with its sign."""
    return f"{_percent(value):+.2f}"


def gain_in_words(gain: Mean) -> str:
    """Return a mean difference in points with its interval, as cells of tables have it."""
    return f"{signed(gain.mean)} {interval(gain.low, gain.high)}"


def panel_size(n: int, width: float = 3.2, height: float = 2.9) -> Size:
    """Return the size of a figure of `n` panels, three in a row."""
    return width * min(3, n), height * -(-n // 3)


def interval(low: float, high: float) -> str:
    """Return an interval of shares in per cent."""
    return f"[{points(low)}, {points(high)}]"


def _percent(value: float) -> float:
    """Return a share of one in per cent as it is shown; what rounds to nothing has no sign."""
    return round(100 * value, 2) + 0.0
