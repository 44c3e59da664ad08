"""`fairground recommend DATA --time 30m`: from your data to a trained model and the reasons for it."""

import dataclasses
import json
import re
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairground.cli.options import HOME, AsJson, Home, Quiet

if TYPE_CHECKING:
    from fairground.audit.audit import Audit
    from fairground.recommend.race_setup import RaceSetup
    from fairground.recommend.race_state import RaceState
    from fairground.recommend.run_race import RaceResult

#: the share of classes that validates where a method is known and only the best epoch is to be found
FEW = 0.1


def recommend(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A folder of class folders, a CSV or Parquet table, a file of features (.npz), or the word icons.",
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Settings for every run, like training.epochs=20."),
    ] = None,
    limit: Annotated[str, typer.Option("--time", "-t", help="How long it may take: 90s, 30m, 2h.")] = "30m",
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many runs at once, one thread each.")] = 2,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="laptop, photographs or features; chosen by the data if left out.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another number is another race.")] = 0,
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out which method suits your data, within a time: ends in advice, a report page and a trained model.

    Audits the data, divides its classes, measures the network before any training, then races methods: all begin, half
    go on, the best scores and the steepest climbs, and the best run again on further seeds. Ctrl-C ends with what is
    known so far; the same command goes on where it was, after a crash too. docs/recommend.md says how it chooses and
    how to read the advice.

    Try: fairground recommend icons --time 5m

    Or: fairground recommend my_photos/ --time 30m

    Or: fairground recommend features.npz --time 2m training.epochs=20
    """
    begun, seconds = time.monotonic(), _seconds(limit)
    sentences: list[str] = []
    say = _printer(sentences, is_quiet=quiet or as_json)
    setup, audit = _inspect(data, words or [], protocol, seed, seconds * workers, say=say, is_quiet=quiet or as_json)
    from fairground.recommend.race_state import RaceState, race_name

    state = RaceState(home=home, name=race_name(setup.plain()), limit=seconds, begun=begun)
    with state.opened():
        found, is_stopped = _race(setup, state, workers=workers, say=say, is_quiet=quiet or as_json)
        summary = _write_results(setup, state, found, audit, sentences)
    if as_json:
        print(json.dumps({**summary, "is_over": state.is_over}))
    else:
        _print(summary, found, setup.study.selection.metric, home)
        if is_stopped:
            print("stopped; nothing is lost. The same command goes on from here.", file=sys.stderr)
    if is_stopped:
        raise typer.Exit(130)


def _seconds(text: str) -> float:
    """Read 90s, 30m, 2h or 1h30m."""
    from fairground.errors import require

    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", text.lower())
    is_time = bool(parts) and "".join(number + letter for number, letter in parts) == text.lower().strip()
    require(is_time, f"--time takes a number with s, m or h, like 90s, 30m or 1h30m; got '{text}'")
    seconds = sum(float(number) * {"h": 3600, "m": 60, "s": 1}[letter] for number, letter in parts)
    require(seconds > 0, "--time must be more than nothing")
    return seconds


def _printer(sentences: list[str], *, is_quiet: bool) -> Callable[[str], None]:
    """Return what says a sentence to the user, and keeps it for the page."""

    def say(sentence: str) -> None:
        sentences.append(sentence)
        if not is_quiet:
            print(sentence, file=sys.stderr)

    return say


def _inspect(
    data: str,
    words: list[str],
    protocol: str | None,
    seed: int,
    worker_seconds: float,
    *,
    say: Callable[[str], None],
    is_quiet: bool,
) -> "tuple[RaceSetup, Audit]":
    """Look at the data, tell what was seen and chosen, and return what is to be raced."""
    from fairground.audit.audit import audit
    from fairground.cli.data import audit_progress, data_words
    from fairground.recommend.protocol_choice import choose_protocol, choose_split
    from fairground.recommend.race_setup import race_setup
    from fairground.spec.load import load_run
    from fairground.training.dataset_profile import profile_dataset

    is_named = data == "icons" and not Path(data).exists()
    named = data_words(None, "icons") if is_named else data_words(Path(data), None)
    seen = profile_dataset(load_run(overrides=[*named, *_said(words, "data")]).data)
    division = choose_split(seen.class_sizes, lists_parts=seen.lists_parts, has_test_half=seen.has_test_half)
    split = [*_unsaid(division.words, words), *_said(words, "split")]
    spec = load_run(overrides=[*named, *_said(words, "data"), *split])
    with audit_progress(is_quiet) as progress:
        found = audit(spec.data, spec.split, progress)
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


def _race(
    setup: "RaceSetup", state: "RaceState", *, workers: int, say: Callable[[str], None], is_quiet: bool
) -> "tuple[RaceResult, bool]":
    """Race, choose and open the test split; after Ctrl-C return what is known, with the test split still sealed."""
    from fairground.cli.race_progress import race_progress
    from fairground.execution.processes import ProcessExecutor
    from fairground.recommend.run_race import RaceRun

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
    setup: "RaceSetup", state: "RaceState", found: "RaceResult", audit: "Audit", sentences: list[str]
) -> dict[str, Any]:
    """Write the model and the page; return everything as JSON-ready data."""
    from fairground.deploy.model_folder import open_model, write_model
    from fairground.report.advice import advice_of, standings_plain
    from fairground.report.race_page import write_race_page
    from fairground.spec.load import run_from_plain

    metric = setup.study.selection.metric
    run = found.recommendation.chosen.best_run(metric)
    advice = advice_of(found.recommendation, metric=metric, is_sealed=found.is_sealed)
    write_model(open_model(run.name, home=state.home), state.model)
    page = write_race_page(
        found,
        title=f"Which method for {setup.study.data[0].label}?",
        steps=sentences,
        advice=advice,
        audit=dataclasses.asdict(audit),
        metric=metric,
        home=state.home,
        out=state.page,
    )
    return {
        "race": state.name,
        "advice": advice,
        "page": str(page),
        "chosen": found.recommendation.chosen.label,
        "metric": metric,
        "standings": standings_plain(found.standings),
        "baselines": standings_plain(found.baselines),
        "model": str(state.model),
        "model_run": run.name,
        "validation_share": run_from_plain(run.spec).split.settings.get("validation", 0.0),
        "seconds": round(state.seconds(), 1),
    }


def _print(summary: dict[str, Any], found: "RaceResult", metric: str, home: Path) -> None:
    from fairground.report.advice import standings_text

    print(standings_text(found.standings, found.baselines, metric=metric))
    for sentence in summary["advice"]:
        print(sentence)
    model = Path(summary["model"]).absolute()
    print(f"page:  {Path(summary['page']).absolute()}  (open it in any browser)")
    print(f"model: {model}  (try: fairground embed {model} YOUR_IMAGES -o embeddings.npz)")
    if summary["validation_share"] > FEW and not found.recommendation.is_baseline:
        words = ("--home", str(home), "--like", summary["model_run"], f"split.validation={FEW}")
        print(f"more:  fairground train {shlex.join(words)}  (the same method on more of your classes)")
