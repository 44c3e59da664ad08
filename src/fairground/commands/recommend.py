"""Find out which method suits a data set within a time: an answer early, a better one later, and a model at the end."""

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairground.commands.command_start import command_start
from fairground.commands.data_words import data_words
from fairground.commands.options import HOME, AsJson, Home, Quiet, home_folder, kept_for_json
from fairground.commands.progress import race_progress
from fairground.commands.terminal import print_fitted
from fairground.commands.words import Setting, words_of
from fairground.errors import require
from fairground.recommendation.protocol_choice import ProtocolChoice, choose_protocol, choose_split
from fairground.recommendation.race_clock import RaceClock
from fairground.recommendation.race_state import RaceState, race_name
from fairground.spec.load import load_run

if TYPE_CHECKING:
    from fairground.commands.load_model import LoadedModel
    from fairground.recommendation.race_progress import RaceProgress
    from fairground.recommendation.race_request import RaceRequest


@dataclass(frozen=True, kw_only=True, repr=False)
class RecommendResult:
    """What to take, why, and where its model and the page lie.

    `result` is what `fairground recommend --json` prints. `is_new` is false where the answer was there already; after
    Ctrl-C, `is_stopped`, the test classes are sealed and the same call goes on.
    """

    result: Mapping[str, Any]
    page: Path
    model: Path
    seconds: float
    is_new: bool

    @property
    def chosen(self) -> str:
        """The method that was chosen."""
        return str(self.result["chosen"])

    @property
    def advice(self) -> tuple[str, ...]:
        """The advice in sentences, the most important first."""
        return tuple(self.result["advice"])

    @property
    def is_frozen(self) -> bool:
        """Tell whether training did not help, so that the network is taken as it is."""
        return bool(self.result["is_frozen"])

    @property
    def is_stopped(self) -> bool:
        """Tell whether it was stopped before its time."""
        return bool(self.result["is_stopped"])

    def load_model(self) -> "LoadedModel":
        """Return the model that is handed over."""
        from fairground.commands.load_model import load_model

        return load_model(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data."""
        return {**self.result, "page": str(self.page), "model": str(self.model), "seconds": self.seconds}

    def __str__(self) -> str:
        return "\n".join([*self.advice, "", _text_table(self.result["columns"], self.result["rows"])])

    def __repr__(self) -> str:
        return f"<RecommendResult {self.result['name']}: {self.chosen}, page {self.page}>"


def recommend(
    data: str | os.PathLike[str],
    *,
    time: str | float = "30m",
    by: str = "recall@1",
    more: str | float | None = None,
    protocol: str | None = None,
    seed: int = 0,
    home: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **settings: Setting,
) -> RecommendResult:
    """Find out which method suits your data, within a time; return the advice, the page and the model.

    `data` is a folder of class folders, a CSV or Parquet table, a file of features, or "icons". `time` is "90s", "30m",
    "2h" or seconds, and holds for everything; `more` goes on for so long after an answer. `by` is the metric that
    decides. `settings` are the words of `fairground recommend`, such as `trunk="resnet50"`.
    """
    return run_recommendation(
        os.fspath(data),
        words_of(settings),
        time=time,
        by=by,
        more=more,
        protocol=protocol,
        seed=seed,
        home=home_folder(home),
        quiet=quiet,
    )


def run_recommendation(
    data: str,
    words: list[str],
    *,
    time: str | float,
    by: str,
    more: str | float | None,
    protocol: str | None,
    seed: int,
    home: Path,
    quiet: bool,
    begun: float | None = None,
) -> RecommendResult:
    """Make a recommendation, take up one that was stopped, or return the one that is there."""
    seconds = seconds_of(time)
    extra = None if more is None else seconds_of(more)
    clock = RaceClock(limit=seconds, begun=monotonic() if begun is None else begun)
    with race_progress(clock, is_quiet=quiet) as progress:
        asked = _inspect(data, words, protocol, by, seed, clock, progress)
        state = RaceState(home=home, name=race_name(_plain(asked)))
        with state.opened():
            if state.result is not None and not state.result["is_stopped"] and extra is None:
                progress.news("This was answered before; --more 30m goes on from here.")
                return _result(state, clock, is_new=False)
            clock.limit = extra if extra is not None else max(seconds - state.spent, 0.0)
            return _session(asked, clock, state, progress)


def seconds_of(time: str | float) -> float:
    """Read 90s, 30m, 2h or 1h30m; a number is in seconds."""
    if isinstance(time, str):
        parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", time.lower())
        is_time = bool(parts) and "".join(number + letter for number, letter in parts) == time.lower().strip()
        require(is_time, f"time takes a number with s, m or h, like 90s, 30m or 1h30m; got '{time}'")
        time = sum(float(number) * {"h": 3600, "m": 60, "s": 1}[letter] for number, letter in parts)
    require(time > 0, f"time must be more than nothing; got {time:g} seconds")
    return time


def _session(asked: "RaceRequest", clock: RaceClock, state: RaceState, progress: "RaceProgress") -> RecommendResult:
    """Race and end; Ctrl-C ends with the best so far, a second one leaves at once."""
    from fairground.recommendation.race_ending import RaceEnding
    from fairground.recommendation.race_session import RaceSession
    from fairground.recommendation.trunk_choice import with_trunk

    session: RaceSession | None = None
    is_stopped = False
    try:
        session = RaceSession(
            with_trunk(asked, clock=clock, state=state, progress=progress), clock=clock, state=state, progress=progress
        )
        session.prepare()
        session.run()
    except KeyboardInterrupt:
        is_stopped = True
        progress.news("Stopped. Ending with the best so far: model and page (Ctrl-C again leaves at once).")
        if session is None:
            session = RaceSession(asked, clock=clock, state=state, progress=progress)
    state.result = RaceEnding(session).end(is_stopped=is_stopped)
    state.spent += clock.seconds()
    state.write()
    return _result(state, clock, is_new=True)


def _result(state: RaceState, clock: RaceClock, *, is_new: bool) -> RecommendResult:
    assert state.result is not None
    return RecommendResult(
        result=state.result,
        page=state.page,
        model=state.model,
        seconds=round(clock.seconds(), 1),
        is_new=is_new,
    )


def _inspect(
    data: str,
    words: list[str],
    protocol: str | None,
    by: str,
    seed: int,
    clock: RaceClock,
    progress: "RaceProgress",
) -> "RaceRequest":
    """Look at the data, say what was seen and chosen, and return what is asked."""
    is_named = data == "icons" and not Path(data).exists()
    named = data_words(None, "icons") if is_named else data_words(Path(data), None)
    from fairground.contracts.metric import RankingMetric
    from fairground.evaluation.metric_names import metric_named
    from fairground.recommendation.race_request import RaceRequest
    from fairground.training.dataset_profile import profile_dataset

    require(
        isinstance(metric_named(by), RankingMetric),
        f"--by takes a metric with a value for each query, like recall@1, map@r or r_precision; got '{by}'",
    )
    seen = profile_dataset(load_run(overrides=[*named, *_said(words, "data")]).data)
    division = choose_split(seen.class_sizes, lists_parts=seen.lists_parts, has_test_half=seen.has_test_half, seed=seed)
    choice: ProtocolChoice = choose_protocol(
        is_picture=seen.is_picture,
        width=seen.width,
        shorter_side=seen.shorter_side,
        is_one_size=seen.is_one_size,
        seconds=clock.limit,
        protocol=protocol,
    )
    progress.say(f"{seen.n_images} images of {len(seen.class_sizes)} classes. {division.sentence}")
    progress.say(choice.sentence)
    label = "icons" if is_named else _label(Path(data))
    split = () if any(word.startswith("split=") for word in words) else division.words
    return RaceRequest(
        title=f"Which method for {label}?",
        choice=choice,
        base=(*named, *_known(choice, named), *split, *words),
        by=by,
        seed=seed,
    )


def _label(path: Path) -> str:
    """Return what to call the data: a folder called images says less than the one it lies in."""
    path = path.absolute()
    return path.parent.name if path.is_dir() and path.name in ("images", "data", "train") else path.stem or path.name


def _known(choice: ProtocolChoice, named: list[str]) -> tuple[str, ...]:
    """Return the words of the choice that this data set knows: one in memory has no prepared images."""
    is_file = any(word in named for word in ("data=folder", "data=table"))
    return tuple(word for word in choice.words if is_file or not word.startswith("data."))


def _said(words: list[str], key: str) -> list[str]:
    """Return the words about one part of a run."""
    return [word for word in words if word.partition("=")[0].partition(".")[0].strip() == key]


def _plain(asked: "RaceRequest") -> Mapping[str, Any]:
    """Return all that decides the answer but the time, on which only a small network's kind depends."""
    return {"kind": asked.choice.kind, "base": list(asked.base), "by": asked.by, "seed": asked.seed}


def _text_table(columns: list[str], rows: list[list[str]]) -> str:
    """Return the table for a terminal of 80 columns: a method on a line, its numbers on the next."""
    heads = [column.replace(", validation", " val").replace(", test", " test") for column in columns[1:]]
    widths = [max(len(head), *(len(row[place + 1]) for row in rows)) for place, head in enumerate(heads)]
    lines = ["  " + "  ".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))]
    for row in rows:
        lines.append(row[0])
        lines.append("  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths, strict=True)))
    return "\n".join(lines)


def recommend_command(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A folder of class folders, a CSV or Parquet table, a file of features (.npz), or the word icons.",
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Settings for every method, like trunk=small_conv."),
    ] = None,
    limit: Annotated[str, typer.Option("--time", "-t", help="How long all of it may take: 90s, 30m, 2h.")] = "30m",
    by: Annotated[
        str, typer.Option("--by", help="The metric that decides: recall@1, map@r, r_precision, ...")
    ] = "recall@1",
    more: Annotated[str | None, typer.Option("--more", help="Go on for so long after an answer: 30m.")] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="laptop, photographs or features; chosen by the data if left out.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another number draws other halves and folds.")] = 0,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out which method suits your data, within a time: ends in advice, a report page and one model to use.

    The frozen network comes first, plain, with discriminants, on principal axes; then heads and losses on its features;
    then its last stages, as far as the time allows. Whatever time is left confirms the best on fresh folds of classes.
    Ctrl-C ends with the best so far; the same command goes on where it was. docs/recommend.md says how it chooses.

    Try: fairground recommend icons --time 5m

    Or: fairground recommend my_photos/ --time 30m

    Or: fairground recommend features.npz --time 2m --by map@r
    """
    from fairground.files import read_json

    with kept_for_json(as_json):
        result = run_recommendation(
            data,
            words or [],
            time=limit,
            by=by,
            more=more,
            protocol=protocol,
            seed=seed,
            home=home,
            quiet=quiet or as_json,
            begun=command_start(),
        )
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        model = result.model.absolute()
        yours = "YOUR_IMAGES" if read_json(model / "model.json")["is_picture"] else "YOUR_FEATURES.npz"
        for line in str(result).split("\n"):
            print_fitted(line)
        print_fitted(f"page:  {result.page.absolute()}  (open it in any browser)")
        print_fitted(f"model: {model}  (try: fairground embed {model} {yours} -o embeddings.npz)")
    if result.is_stopped and result.is_new:
        print("stopped; nothing is lost. The same command goes on from here.", file=sys.stderr)
        raise typer.Exit(130)
