"""The live pages of `fairground watch`: an overview of studies and runs, and their reports, served read-only.

A page is rebuilt on request, at most every few seconds, and less often if that takes long. Requests for another host
name are refused, so that no other page in the browser can read these by DNS rebinding.
"""

import errno
import hashlib
import ipaddress
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairground.errors import FairgroundError, InputError, require
from fairground.records.lock import is_at_work
from fairground.records.record import EpochRow, RunRecord
from fairground.records.run_folder import RunFolder, folder_names, run_in_progress
from fairground.records.store import Store
from fairground.reporting.find_runs import find_runs
from fairground.reporting.headings import clean, heading, show
from fairground.reporting.page import page_text
from fairground.reporting.rendering import render
from fairground.spec.identity import flatten
from fairground.spec.study import StudySpec, study_hash
from fairground.studies.folder import begun_hint, begun_studies, find_begun, folder_of
from fairground.studies.status import JobStatus, status_of
from fairground.studies.trials import ENDED

#: least seconds between two builds of a page, and the pause after a build as a multiple of its time
PAUSE, REST = 2.0, 3.0
#: runs listed as cards and in the table of an overview; the reports have all
MOST_CARDS, MOST_FINISHED = 48, 200
#: the drawing of a run's curve, in its own units
_WIDTH, _HEIGHT, _EDGE = 240.0, 60.0, 4.0
_SEALED = "The report starts when the search is over; until then the test split is sealed."


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What to watch: studies by hash and runs by name; everything where both are empty."""

    studies: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


def choose(names: Sequence[str], home: Path) -> Chosen:
    """Return the studies and runs of these names, each a begun study, a run, or a method by its hash."""
    store = Store(home)
    studies: list[str] = []
    runs: list[str] = []
    for name in names:
        study = find_begun(home, name)
        if study is not None:
            studies.append(study_hash(study))
            continue
        of_method, known = store.names(method=name), {*store.names(), *folder_names(home)}
        found = [name] if name in known else sorted(one for one in known if one.startswith(name))
        hint = begun_hint(home, name)
        require(
            bool(of_method or found), f"no study or run '{name}' in {home}.{hint} `fairground list runs` lists them."
        )
        is_clear = bool(of_method) or len(found) == 1
        require(is_clear, f"'{name}' could be {', '.join(found[:9])}: use more of the name")
        runs += of_method or found
    return Chosen(studies=tuple(dict.fromkeys(studies)), runs=tuple(dict.fromkeys(runs)))


@dataclass(frozen=True, kw_only=True)
class RunCard:
    """One run, from its record or its newest checkpoint; `score` is on test if that split was opened."""

    name: str
    spec: Mapping[str, Any]
    rows: Sequence[EpochRow]
    state: str
    test_score: float | None
    validation_score: float | None
    seconds: float
    started: str
    failure: str = ""

    @classmethod
    def from_record(cls, record: RunRecord) -> "RunCard":
        card = cls(
            name=record.name,
            spec=record.spec,
            rows=record.epochs,
            state=record.state,
            test_score=None,
            validation_score=None,
            seconds=record.provenance.wall_seconds,
            started=record.provenance.started,
            failure=record.failure or "",
        )
        validation = record.score(card.metric, "validation")
        return replace(card, test_score=record.score(card.metric), validation_score=validation)

    @classmethod
    def from_folder(cls, folder: RunFolder) -> "RunCard | None":
        """Return a run without a record; None where its files cannot be read at the moment."""
        seen = run_in_progress(folder)
        if seen is None:
            return None
        card = cls(
            name=seen.name,
            spec=seen.spec,
            rows=seen.rows,
            state="running" if seen.is_at_work else "stopped",
            test_score=None,
            validation_score=None,
            seconds=seen.seconds,
            started=seen.started,
        )
        return replace(card, validation_score=card.curve[-1][1] if card.curve else None)

    @cached_property
    def flat(self) -> dict[str, str]:
        return {key: clean(value) for key, value in flatten(self.spec).items()}

    @property
    def metric(self) -> str:
        return self.flat.get("evaluation.select_by", "map@r")

    @property
    def heading(self) -> str:
        return heading(self.metric)

    @property
    def label(self) -> str:
        parts = [self.flat[part] for part in ("miner", "regulariser") if self.flat.get(part, "none") != "none"]
        return " + ".join([self.flat.get("loss", "?"), *parts])

    @property
    def data(self) -> str:
        return self.flat.get("data", "?")

    @property
    def seed(self) -> str:
        fold = self.flat.get("split.fold")
        return clean(f"{self.spec.get('seed', '?')}{'' if fold is None else f' · fold {fold}'}")

    @property
    def is_trial(self) -> bool:
        return self.flat.get("evaluation.test") == "false"

    @property
    def n_epochs(self) -> int:
        return int(self.flat.get("training.epochs", "0"))

    @property
    def epoch(self) -> int:
        return self.rows[-1].epoch if self.rows else 0

    @property
    def share(self) -> float:
        """The share of the training that is done."""
        return min(1.0, self.epoch / self.n_epochs) if self.n_epochs else 0.0

    @property
    def seconds_left(self) -> float | None:
        is_going = self.state == "running" and self.epoch > 0
        return self.seconds / self.epoch * max(0, self.n_epochs - self.epoch) if is_going else None

    @property
    def loss(self) -> float | None:
        return next((row.loss for row in reversed(self.rows) if row.loss is not None), None)

    @property
    def curve(self) -> list[tuple[int, float]]:
        return [(row.epoch, row.validation[self.metric]) for row in self.rows if self.metric in row.validation]

    @property
    def score(self) -> float | None:
        """The test score; while the test split is sealed, the validation score of the record or the newest epoch."""
        return self.validation_score if self.test_score is None else self.test_score

    @property
    def shown_score(self) -> str:
        return "-" if self.score is None else show(self.metric, self.score)

    @property
    def span(self) -> tuple[str, str] | None:
        """The lowest and the highest score of the curve."""
        values = [value for _, value in self.curve]
        return (show(self.metric, min(values)), show(self.metric, max(values))) if values else None

    @property
    def places(self) -> list[tuple[float, float]]:
        """The points of the SVG line; its full width is the planned number of epochs."""
        values = [value for _, value in self.curve]
        low, high = min(values, default=0), max(values, default=0)
        last = max(self.n_epochs, self.epoch, 1)
        return [
            (
                _EDGE + (_WIDTH - 2 * _EDGE) * epoch / last,
                _HEIGHT / 2 if high == low else _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - low) / (high - low),
            )
            for epoch, value in self.curve
        ]


@dataclass(frozen=True, kw_only=True)
class StudyCard:
    """One study: the progress of its search and its final runs; `share` is of all its runs."""

    hash: str
    name: str
    question: str
    state: str
    is_sealed: bool
    n_ended: int
    n_trials: int
    n_final_done: int
    n_final: int
    share: float
    jobs: Sequence[JobStatus]

    @classmethod
    def from_study(cls, study: StudySpec, home: Path) -> "StudyCard":
        jobs = status_of(study, home=home)
        is_sealed = not any(job.is_selected for job in jobs)
        n_ended = sum(job.trials.get(state, 0) for job in jobs for state in ENDED)
        n_trials = sum(job.n_trials for job in jobs) if study.search.trials else 0
        n_final_done, n_final = sum(job.final_done for job in jobs), sum(job.final_wanted for job in jobs)
        n_folds = len(study.folds.used)
        total = n_trials * n_folds + n_final
        at_work = is_at_work(folder_of(study, home).path / "driver.lock")
        return cls(
            hash=study_hash(study),
            name=clean(study.name),
            question=clean(study.question),
            state="done" if n_final_done == n_final and not is_sealed else "running" if at_work else "stopped",
            is_sealed=is_sealed,
            n_ended=n_ended,
            n_trials=n_trials,
            n_final_done=n_final_done,
            n_final=n_final,
            share=(n_ended * n_folds + n_final_done) / total if total else 0.0,
            jobs=jobs,
        )


@dataclass
class _Page:
    """A page as last built: `key` is what it was built from, `due` when it may be built again."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    html: str = ""
    key: object = None
    due: float = 0.0


class Watch:
    """Builds the pages of a run directory."""

    def __init__(self, home: Path, chosen: Chosen | None = None, *, pause: float = PAUSE) -> None:
        self.home, self.chosen, self._pause = home, chosen or Chosen(), pause
        self._pages: dict[str, _Page] = {}

    def page(self, slug: str) -> str | None:
        """Return the page of a path ('' for the overview), rebuilt if that is due; None for an unknown path."""
        kind, _, study = slug.partition("/")
        has_runs = bool(self.chosen.runs) or self.chosen == Chosen()
        if slug and not (slug == "runs" and has_runs) and not (kind == "study" and study in self._studies()):
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

    def _studies(self) -> dict[str, StudySpec]:
        is_all = self.chosen == Chosen()
        return {key: study for key, study in begun_studies(self.home).items() if is_all or key in self.chosen.studies}

    def _build_report(self, page: _Page, study: str) -> None:
        """Build the report of a study, or of the chosen runs; drawn again only if a record has changed."""
        cards = [StudyCard.from_study(self._studies()[study], self.home)] if study else []
        try:
            require(not any(card.is_sealed for card in cards), _SEALED)
            done = set(Store(self.home).names())
            names = [study] if study else [name for name in self.chosen.runs if name in done]
            require(bool(names) or not self.chosen.runs, "None of these runs has finished.")
            runs = find_runs(names, self.home)
        except InputError as error:
            page.html, page.key = _notice("Nothing to report yet", str(error), cards), None
            return
        key = [(record.name, record.state, record.provenance.started) for record in runs.records]
        if key != page.key:
            page.html, page.key = page_text(runs, live=True), key

    def _overview(self) -> str:
        complaints: list[str] = []
        studies: list[StudyCard] = []
        for study in self._studies().values():
            try:
                studies.append(StudyCard.from_study(study, self.home))
            except FairgroundError as error:
                complaints.append(clean(f"study {study.name} cannot be read: {error}"))
        records = list(Store(self.home).records())
        wanted = set(self.chosen.runs)
        finished = [RunCard.from_record(one) for one in records[::-1] if not wanted or one.name in wanted]
        begun = folder_names(self.home) - {record.name for record in records}
        found = [RunCard.from_folder(RunFolder(self.home, name)) for name in begun if not wanted or name in wanted]
        cards = sorted((one for one in found if one is not None), key=lambda one: (one.state, one.started, one.name))
        states = [run.state for run in (*finished, *cards)]
        has_report = bool(finished) and (bool(wanted) or self.chosen == Chosen())
        return _render_overview(
            title=f"Running in {self.home.name or self.home}",
            studies=studies,
            report=("" if not has_report else f"{len(wanted)} runs" if wanted else "all runs"),
            cards=cards,
            finished=finished,
            counts={state: states.count(state) for state in dict.fromkeys(("running", "done", *sorted(states)))},
            complaints=complaints,
        )


def _notice(title: str, sentence: str, studies: Sequence[StudyCard] = ()) -> str:
    """Return a page that says why there is no report."""
    shown = studies[0].question or studies[0].name if studies else title
    return _render_overview(title=shown, notice=(title, sentence), studies=studies)


def _render_overview(
    *,
    title: str,
    studies: Sequence[StudyCard],
    notice: tuple[str, str] | None = None,
    report: str = "",
    cards: Sequence[RunCard] = (),
    finished: Sequence[RunCard] = (),
    counts: Mapping[str, int] | None = None,
    complaints: Sequence[str] = (),
) -> str:
    return render(
        "overview.html",
        title=title,
        styles=("page.css", "overview.css"),
        live=True,
        notice=notice,
        studies=studies,
        report=report,
        cards=cards[:MOST_CARDS],
        n_more_cards=max(0, len(cards) - MOST_CARDS),
        finished=finished[:MOST_FINISHED],
        n_more_finished=max(0, len(finished) - MOST_FINISHED),
        counts=counts or {},
        complaints=complaints,
    )


class WatchServer(ThreadingHTTPServer):
    """Serves the pages of a watch at one address, for reading only."""

    daemon_threads = True

    def __init__(self, host: str, port: int, watch: Watch) -> None:
        self.watch, self.host = watch, host
        try:
            self.address_family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError, UnicodeError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                raise InputError(f"port {port} is in use: choose another with --port, or --port 0 for any") from error
            raise InputError(f"cannot listen on {host}, port {port}: {error}") from error

    @property
    def url(self) -> str:
        shown = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.server_port}/"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return ipaddress.ip_address(str(self.server_address[0]).partition("%")[0]).is_loopback

    def knows(self, header: str) -> bool:
        """Tell whether a Host header names this machine; a numeric address cannot be rebound."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
            if name in ("localhost", self.host.lower(), socket.gethostname().lower()):
                return True
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return False
        return True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore it: a reader may close the window while a page is being sent."""


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    server_version, sys_version = "fairground", ""
    #: seconds without a byte after which a connection is closed; http.server bounds lines and headers
    timeout = 15

    def do_GET(self) -> None:
        if not self.server.knows(self.headers.get("Host", "")):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, f"Unknown host name. Open {self.server.url}")
            return
        page = self.server.watch.page(self.path.partition("?")[0].removeprefix("/"))
        if page is None:
            self._send(HTTPStatus.NOT_FOUND, "There is no such page. The overview at / lists all.")
        else:
            self._send(HTTPStatus.OK, page, kind="text/html")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, status: HTTPStatus, text: str, *, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:16]}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Print nothing per request."""
