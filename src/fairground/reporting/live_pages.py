"""The live pages of `fairground watch`, rebuilt on request: an overview of studies and runs, and their reports."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairground.records import RunFolder, RunInProgress, RunRecord, Store, folder_names, run_in_progress
from fairground.reporting import clean, find_runs, heading, page_text, render, show
from fairground.spec import FairgroundError, InputError, StudySpec, flatten, is_at_work, read_json, require, study_hash
from fairground.studies import ENDED, begun_studies, folder_of, status_of

#: least seconds between two builds of a page, and the pause after a build as a multiple of its time
PAUSE, REST = 2.0, 3.0
#: runs listed as cards and in the table of an overview; the reports have all
MOST_CARDS, MOST_FINISHED = 48, 200
#: the drawing of a run's curve, in its own units
_WIDTH, _HEIGHT, _EDGE = 240.0, 60.0, 4.0
_LOOK: Mapping[str, Any] = {"styles": ("page.css", "overview.css"), "live": True}
_SEALED = "The report starts when the search is over; until then the test split is sealed."


def run_card(run: RunRecord | RunInProgress) -> dict[str, Any]:
    """Return what the overview shows of a run, from its record or newest checkpoint; the test score if there is one."""
    flat = {key: clean(value) for key, value in flatten(run.spec).items()}
    metric, fold = flat.get("evaluation.select_by", "map@r"), flat.get("split.fold")
    rows = run.epochs if isinstance(run, RunRecord) else run.rows
    curve = {row.epoch: row.validation[metric] for row in rows if metric in row.validation}
    values, state = list(curve.values()), "stopped"
    if isinstance(run, RunRecord):
        state, seconds, failure = run.state, run.provenance.wall_seconds, run.failure or ""
        test, validation = run.score(metric), run.score(metric, "validation")
    else:
        state, seconds, failure = "running" if run.is_at_work else state, run.seconds, ""
        test, validation = None, values[-1] if values else None
    score = validation if test is None else test
    epoch, n_epochs = rows[-1].epoch if rows else 0, int(flat.get("training.epochs", "0"))
    is_going = state == "running" and epoch > 0
    parts = [flat[part] for part in ("miner", "regulariser") if flat.get(part, "none") != "none"]
    low, high = min(curve.values(), default=0), max(curve.values(), default=0)
    width, height = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE
    heights = [height / 2 if high == low else height * (y - low) / (high - low) for y in curve.values()]
    return {
        "name": run.name,
        "label": " + ".join([flat.get("loss", "?"), *parts]),
        "data": flat.get("data", "?"),
        "seed": clean(f"{run.spec.get('seed', '?')}{'' if fold is None else f' · fold {fold}'}"),
        "is_trial": flat.get("evaluation.test") == "false",
        "state": state,
        "failure": failure,
        "heading": heading(metric),
        "score": score,
        "shown_score": "-" if score is None else show(metric, score),
        "is_on_test": test is not None,
        "loss": next((row.loss for row in reversed(rows) if row.loss is not None), None),
        "epoch": epoch,
        "n_epochs": n_epochs,
        "share": min(1.0, epoch / n_epochs) if n_epochs else 0.0,
        "seconds": seconds,
        "seconds_left": seconds / epoch * max(0, n_epochs - epoch) if is_going else None,
        "span": (show(metric, min(values)), show(metric, max(values))) if values else None,
        "places": [
            (_EDGE + width * x / max(n_epochs, epoch, 1), _HEIGHT - _EDGE - y)
            for x, y in zip(curve, heights, strict=True)
        ],
    }


def study_card(study: StudySpec, home: Path) -> dict[str, Any]:
    jobs = status_of(study, home=home)
    is_sealed = not any(job.is_selected for job in jobs)
    n_ended = sum(job.trials.get(state, 0) for job in jobs for state in ENDED)
    n_trials = sum(job.n_trials for job in jobs) if study.search.trials else 0
    n_final_done, n_final = sum(job.final_done for job in jobs), sum(job.final_wanted for job in jobs)
    n_folds = len(study.folds.used)
    total = n_trials * n_folds + n_final
    at_work = is_at_work(folder_of(study, home).path / "driver.lock")
    return {
        "hash": study_hash(study),
        "name": clean(study.name),
        "question": clean(study.question),
        "state": "done" if n_final_done == n_final and not is_sealed else "running" if at_work else "stopped",
        "is_sealed": is_sealed,
        "n_ended": n_ended,
        "n_trials": n_trials,
        "n_final_done": n_final_done,
        "n_final": n_final,
        "share": (n_ended * n_folds + n_final_done) / total if total else 0.0,
        "jobs": jobs,
    }


def recommendation_card(folder: Path) -> dict[str, Any]:
    """Return what the overview shows of a recommendation: the first sentence of its advice, or how far it is."""
    path, measured = folder / "plan.json", folder / "measurements.jsonl"
    plan = read_json(path) if path.is_file() else {}
    n = measured.read_bytes().count(b"\n") if measured.is_file() else 0
    return {
        "name": folder.name,
        "title": clean(plan.get("title", folder.name)),
        "is_running": is_at_work(folder / "driver.lock"),
        "has_page": (folder / "report.html").is_file(),
        "said": clean(plan["result"]["advice"][0]) if plan.get("result") else f"{n} measurements so far",
    }


@dataclass
class _Page:
    """A page as last built: `key` is what it was built from, `due` when it may be built again."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    html: str = ""
    key: object = None
    due: float = 0.0


class Watch:
    """Builds the pages of a run directory."""

    def __init__(self, home: Path, *, pause: float = PAUSE) -> None:
        self.home, self._pause = home, pause
        self._pages: dict[str, _Page] = {}

    def page(self, slug: str) -> str | None:
        """Return the page of a path ('' for the overview), rebuilt if that is due; None for an unknown path."""
        kind, _, study = slug.partition("/")
        if kind == "recommendation":
            found = {path.parent.name: path for path in self.home.glob("recommendations/*/report.html")}
            return found[study].read_text(encoding="utf-8") if study in found else None
        if slug not in ("", "runs") and not (kind == "study" and study in begun_studies(self.home)):
            return None
        page = self._pages.setdefault(slug, _Page())
        with page.lock:
            started = time.monotonic()
            if started >= page.due:
                try:
                    if slug:
                        self._build_report(page, study)
                    else:
                        page.html = self._overview()
                except Exception as error:  # a page that cannot be built must not end the server
                    what = "" if isinstance(error, FairgroundError) else f"{type(error).__name__}: "
                    page.html, page.key = _notice("This page could not be made", clean(f"{what}{error}")), None
                now = time.monotonic()
                page.due = now + max(self._pause, REST * (now - started))
            return page.html

    def _build_report(self, page: _Page, study: str) -> None:
        """Build the report of a study, or of all runs; drawn again only if a record has changed."""
        cards = [study_card(begun_studies(self.home)[study], self.home)] if study else []
        try:
            require(not any(card["is_sealed"] for card in cards), _SEALED)
            runs = find_runs([study] if study else [], self.home)
        except InputError as error:
            page.html, page.key = _notice("Nothing to report yet", str(error), cards), None
            return
        key = [(record.name, record.state, record.provenance.started) for record in runs.records]
        if key != page.key:
            page.html, page.key = page_text(runs, live=True), key

    def _overview(self) -> str:
        complaints, studies = list[str](), list[dict[str, Any]]()
        for study in begun_studies(self.home).values():
            try:
                studies.append(study_card(study, self.home))
            except FairgroundError as error:
                complaints.append(clean(f"study {study.name} cannot be read: {error}"))
        finished = list(Store(self.home).records())[::-1]
        begun = folder_names(self.home) - {record.name for record in finished}
        found = [run_in_progress(RunFolder(self.home, name)) for name in begun]
        # Running ones first.
        unfinished = sorted((x for x in found if x is not None), key=lambda x: (not x.is_at_work, x.started, x.name))
        cards = [run_card(one) for one in unfinished]
        states = [*(one.state for one in finished), *(card["state"] for card in cards)]
        return render(
            "overview.html",
            title=f"Running in {self.home.name or self.home}",
            studies=studies,
            recommendations=[recommendation_card(one) for one in sorted(self.home.glob("recommendations/*/"))],
            cards=cards[:MOST_CARDS],
            n_more_cards=max(0, len(cards) - MOST_CARDS),
            finished=[run_card(one) for one in finished[:MOST_FINISHED]],
            n_more_finished=max(0, len(finished) - MOST_FINISHED),
            counts={state: states.count(state) for state in dict.fromkeys(("running", "done", *sorted(states)))},
            complaints=complaints,
            **_LOOK,
        )


def _notice(title: str, sentence: str, studies: Sequence[Mapping[str, Any]] = ()) -> str:
    shown = studies[0]["question"] or studies[0]["name"] if studies else title
    return render("overview.html", title=shown, notice=(title, sentence), studies=studies, **_LOOK)
