"""Find out which method suits a data set within a time: inspect it, race methods, write a model, a page and advice."""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from fairground.api.data_words import data_words
from fairground.api.home import home_folder
from fairground.api.load_model import LoadedModel, load_model
from fairground.api.progress.counts import counted
from fairground.api.progress.race import race_progress
from fairground.api.words import Setting, words_of
from fairground.audit.audit import Audit, audit
from fairground.deploy.model_folder import open_model, write_model
from fairground.errors import require
from fairground.execution.processes import ProcessExecutor
from fairground.recommend.protocol_choice import choose_protocol, choose_split
from fairground.recommend.race_setup import RaceSetup, race_setup
from fairground.recommend.race_state import RaceState, race_name
from fairground.recommend.run_race import RaceResult, RaceRun
from fairground.report.advice import advice_of, standings_plain, standings_text
from fairground.report.race_page import write_race_page
from fairground.spec.load import load_run, run_from_plain
from fairground.training.dataset_profile import profile_dataset

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, repr=False)
class RecommendResult:
    """The method that was chosen, why, and where its model and the page lie.

    `is_over` tells that the race has ended and the test classes are open; after Ctrl-C the same call goes on.
    """

    race: str
    chosen: str
    metric: str
    advice: tuple[str, ...]
    found: RaceResult
    page: Path
    model: Path
    model_run: str
    validation_share: float
    seconds: float
    is_over: bool
    is_stopped: bool

    def load_model(self) -> LoadedModel:
        """Return the trained model."""
        return load_model(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data, as `fairground recommend --json` prints it."""
        names = ("race", "chosen", "metric", "model_run", "validation_share", "seconds", "is_over")
        plain = {name: getattr(self, name) for name in names}
        return {
            **plain,
            "advice": list(self.advice),
            "page": str(self.page),
            "model": str(self.model),
            "standings": standings_plain(self.found.standings),
            "baselines": standings_plain(self.found.baselines),
        }

    def __str__(self) -> str:
        table = standings_text(self.found.standings, self.found.baselines, metric=self.metric)
        return "\n".join([table, *self.advice])

    def __repr__(self) -> str:
        return f"<RecommendResult: {self.chosen}, model in {self.model}>"


def recommend(
    data: str | os.PathLike[str],
    *,
    time: str | float = "30m",
    workers: int = 2,
    protocol: str | None = None,
    seed: int = 0,
    home: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **settings: Setting,
) -> RecommendResult:
    """Find out which method suits your data, within a time: ends in advice, a report page and a trained model.

    `data` is a folder of class folders, a CSV or Parquet table, a file of features (.npz), or the word "icons"; `time`
    is 90s, 30m, 2h, or a number of seconds. The keywords are settings for every run: `training={"epochs": 20}`.
    """
    folder, words = home_folder(home), words_of(settings)
    require(workers >= 1, f"workers must be at least 1; got {workers}")
    return race_methods(
        os.fspath(data), words, time=time, workers=workers, protocol=protocol, seed=seed, home=folder, quiet=quiet
    )


def race_methods(
    data: str,
    words: list[str],
    *,
    time: str | float,
    workers: int,
    protocol: str | None,
    seed: int,
    home: Path,
    quiet: bool,
) -> RecommendResult:
    """Inspect the data, race methods, choose one, and write its model and the page."""
    begun, seconds = monotonic(), seconds_of(time)
    sentences: list[str] = []
    say = _printer(sentences, is_quiet=quiet)
    setup, inspected = _inspect(data, words, protocol, seed, seconds * workers, say=say, is_quiet=quiet)
    state = RaceState(home=home, name=race_name(setup.plain()), limit=seconds, begun=begun)
    with state.opened():
        found, is_stopped = _race(setup, state, workers=workers, say=say, is_quiet=quiet)
        return _write_results(setup, state, found, inspected, sentences, is_stopped=is_stopped)


def seconds_of(time: str | float) -> float:
    """Read 90s, 30m, 2h or 1h30m; a number is in seconds."""
    if isinstance(time, str):
        parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", time.lower())
        is_time = bool(parts) and "".join(number + letter for number, letter in parts) == time.lower().strip()
        require(is_time, f"time takes a number with s, m or h, like 90s, 30m or 1h30m; got '{time}'")
        time = sum(float(number) * {"h": 3600, "m": 60, "s": 1}[letter] for number, letter in parts)
    require(time > 0, f"time must be more than nothing; got {time:g} seconds")
    return time


def _printer(sentences: list[str], *, is_quiet: bool) -> Say:
    """Return what says a sentence to the user, and keeps it for the page."""

    def say(sentence: str) -> None:
        sentences.append(sentence)
        if not is_quiet:
            print(sentence, file=sys.stderr)

    return say


def _inspect(
    data: str, words: list[str], protocol: str | None, seed: int, worker_seconds: float, *, say: Say, is_quiet: bool
) -> tuple[RaceSetup, Audit]:
    """Look at the data, say what was seen and chosen, and return what is to be raced."""
    is_named = data == "icons" and not Path(data).exists()
    named = data_words(None, "icons") if is_named else data_words(Path(data), None)
    seen = profile_dataset(load_run(overrides=[*named, *_said(words, "data")]).data)
    division = choose_split(seen.class_sizes, lists_parts=seen.lists_parts, has_test_half=seen.has_test_half)
    split = [*_unsaid(division.words, words), *_said(words, "split")]
    spec = load_run(overrides=[*named, *_said(words, "data"), *split])
    with counted("looking at images", is_quiet=is_quiet) as tell:
        found = audit(spec.data, spec.split, lambda done, of: tell("", done, of))
    n_train, n_classes = found.parts["train"]
    choice = choose_protocol(
        is_picture=seen.is_picture,
        width=seen.width,
        shorter_side=seen.shorter_side,
        is_one_size=seen.is_one_size,
        train_images=n_train,
        train_classes=n_classes,
        worker_seconds=worker_seconds,
        protocol=protocol,
    )
    say(f"{found.n_images} images of {found.n_classes} classes. {division.sentence}")
    parts = [f"{part} {images} images of {classes} classes" for part, (images, classes) in found.parts.items()]
    say(f"{'; '.join(parts)}.".capitalize())
    say(choice.sentence)
    label = "icons" if is_named else Path(data).stem or Path(data).name
    setup = race_setup(choice, label=label, data=named, words=[*_unsaid(division.words, words), *words], seed=seed)
    return setup, found


def _said(words: list[str], key: str) -> list[str]:
    """Return the words about one part of a run."""
    return [word for word in words if word.partition("=")[0].partition(".")[0].strip() == key]


def _unsaid(chosen: tuple[str, ...], words: list[str]) -> list[str]:
    """Return the chosen words about the split, unless the user named another one."""
    return [] if any(word.startswith("split=") for word in words) else list(chosen)


def _race(setup: RaceSetup, state: RaceState, *, workers: int, say: Say, is_quiet: bool) -> tuple[RaceResult, bool]:
    """Race, choose and open the test split; after Ctrl-C return what is known, with the test split still sealed."""
    with race_progress(state, metric=setup.study.selection.metric, is_quiet=is_quiet) as (watch, on_record):
        race = RaceRun(
            setup,
            state=state,
            spawn=lambda job, watch: ProcessExecutor(job, workers=workers, watch=watch),
            watch=watch,
            on_record=on_record,
        )
        try:
            with race:
                if state.is_over:
                    say("This race is over, and its test classes are open: here is what it found.")
                else:
                    say(race.plan_sentence())
                race.race()
                return race.choose(), False
        except KeyboardInterrupt:
            say("Stopped. Ending with what is known: the ranking, the model so far and the page (Ctrl-C again leaves).")
            return race.result_so_far(), True


def _write_results(
    setup: RaceSetup, state: RaceState, found: RaceResult, inspected: Audit, sentences: list[str], *, is_stopped: bool
) -> RecommendResult:
    """Write the model and the page, and return what to say about them."""
    metric = setup.study.selection.metric
    run = found.recommendation.chosen.best_run(metric)
    advice = advice_of(found.recommendation, metric=metric, is_sealed=found.is_sealed)
    write_model(open_model(run.name, home=state.home), state.model)
    page = write_race_page(
        found,
        title=f"Which method for {setup.study.data[0].label}?",
        steps=sentences,
        advice=advice,
        audit=asdict(inspected),
        metric=metric,
        home=state.home,
        out=state.page,
    )
    share = run_from_plain(run.spec).split.settings.get("validation", 0.0)
    return RecommendResult(
        race=state.name,
        chosen=found.recommendation.chosen.label,
        metric=metric,
        advice=tuple(advice),
        found=found,
        page=page,
        model=state.model,
        model_run=run.name,
        validation_share=float(share) if isinstance(share, int | float) else 0.0,
        seconds=round(state.seconds(), 1),
        is_over=state.is_over,
        is_stopped=is_stopped,
    )
