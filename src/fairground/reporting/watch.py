"""The live pages of `fairground watch`: an overview of studies and runs, and their reports, served read-only.

A page is rebuilt when it is asked for, at most every few seconds, and less often if it takes long. Requests under
another machine's name are refused, so that no other page in the browser can read these by DNS rebinding.
"""

import errno
import hashlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from fairground.spec.space import Range
from fairground.spec.study import StudySpec, study_hash
from fairground.studies.folder import begun_hint, begun_studies, find_begun, folder_of
from fairground.studies.status import JobStatus, status_of
from fairground.studies.trials import ENDED

#: least seconds between two builds of a page, and how many times longer than building it the rest is
PAUSE, REST = 2.0, 3.0
#: runs listed as cards and in the table of an overview; the reports have all
MOST_CARDS, MOST_FINISHED = 48, 200
#: the drawing of a run's curve, in its own units
_WIDTH, _HEIGHT, _EDGE = 240.0, 60.0, 4.0
_SEALED = "The report begins when the search is over: until then the test split is sealed."


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
    """One run: from its record, or from its newest checkpoint while it has none.

    `score` is of the test split where the run has opened it, otherwise the newest on validation.
    """

    name: str
    spec: Mapping[str, Any]
    rows: Sequence[EpochRow]
    state: str
    score: float | None
    split: str
    seconds: float
    started: str
    seconds_left: float | None = None
    failure: str = ""

    @classmethod
    def from_record(cls, record: RunRecord) -> "RunCard":
        metric = _metric(record.spec, record.epochs)
        test, validation = record.score(metric), record.score(metric, "validation")
        return cls(
            name=record.name,
            spec=record.spec,
            rows=record.epochs,
            state=record.state,
            score=validation if test is None else test,
            split="validation" if test is None else "test",
            seconds=record.provenance.wall_seconds,
            started=record.provenance.started,
            failure=record.failure or "",
        )

    @classmethod
    def from_folder(cls, folder: RunFolder) -> "RunCard | None":
        """Return a run without a record; None where the folder cannot be read just now."""
        seen = run_in_progress(folder)
        if seen is None:
            return None
        metric, done = _metric(seen.spec, seen.rows), seen.rows[-1].epoch if seen.rows else 0
        scores = [row.validation[metric] for row in seen.rows if metric in row.validation]
        card = cls(
            name=seen.name,
            spec=seen.spec,
            rows=seen.rows,
            state="running" if seen.is_at_work else "stopped",
            score=scores[-1] if scores else None,
            split="validation",
            seconds=seen.seconds,
            started=seen.started,
        )
        is_going = done > 0 and seen.is_at_work
        return replace(card, seconds_left=seen.seconds / done * max(0, card.n_epochs - done) if is_going else None)

    @property
    def metric(self) -> str:
        return _metric(self.spec, self.rows)

    @property
    def heading(self) -> str:
        return heading(self.metric)

    @property
    def label(self) -> str:
        flat = flatten(self.spec)
        parts = [flat[part] for part in ("miner", "regulariser") if flat.get(part, "none") != "none"]
        return clean(" + ".join([flat.get("loss", "?"), *parts]))

    @property
    def data(self) -> str:
        return clean(flatten(self.spec).get("data", "?"))

    @property
    def seed(self) -> str:
        fold = flatten(self.spec).get("split.fold")
        return clean(f"{self.spec.get('seed', '?')}{'' if fold is None else f' · fold {fold}'}")

    @property
    def is_trial(self) -> bool:
        return _section(self.spec, "evaluation").get("test") is False

    @property
    def n_epochs(self) -> int:
        found = _section(self.spec, "training").get("epochs")
        return found if isinstance(found, int) else 0

    @property
    def epoch(self) -> int:
        return self.rows[-1].epoch if self.rows else 0

    @property
    def share(self) -> float:
        """The share of the training that is done."""
        return min(1.0, self.epoch / self.n_epochs) if self.n_epochs else 0.0

    @property
    def loss(self) -> float | None:
        return next((row.loss for row in reversed(self.rows) if row.loss is not None), None)

    @property
    def shown_score(self) -> str:
        return "-" if self.score is None else show(self.metric, self.score)

    @property
    def curve(self) -> list[tuple[int, float]]:
        return [(row.epoch, row.validation[self.metric]) for row in self.rows if self.metric in row.validation]

    @property
    def span(self) -> tuple[str, str] | None:
        """The lowest and the highest score of the curve."""
        values = [value for _, value in self.curve]
        return (show(self.metric, min(values)), show(self.metric, max(values))) if values else None

    @property
    def places(self) -> list[tuple[float, float]]:
        """The curve as places of an SVG line; its full width is the planned number of epochs."""
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
    """One study: how far its search and its final runs are, job by job."""

    hash: str
    study: StudySpec
    is_at_work: bool
    jobs: Sequence[JobStatus]

    @classmethod
    def from_study(cls, study: StudySpec, home: Path) -> "StudyCard":
        lock = folder_of(study, home).path / "driver.lock"
        jobs = status_of(study, home=home)
        return cls(hash=study_hash(study), study=study, is_at_work=is_at_work(lock), jobs=jobs)

    @property
    def name(self) -> str:
        return clean(self.study.name)

    @property
    def question(self) -> str:
        return clean(self.study.question)

    @property
    def is_sealed(self) -> bool:
        """Whether nothing has been selected yet, so that no run may open the test split."""
        return not any(job.is_selected for job in self.jobs)

    @property
    def n_ended(self) -> int:
        return sum(job.trials.get(state, 0) for job in self.jobs for state in ENDED)

    @property
    def n_trials(self) -> int:
        return sum(job.n_trials for job in self.jobs) if self.study.search.trials else 0

    @property
    def n_final_done(self) -> int:
        return sum(job.final_done for job in self.jobs)

    @property
    def n_final(self) -> int:
        return sum(job.final_wanted for job in self.jobs)

    @property
    def share(self) -> float:
        """The share of the study's runs that are done."""
        n_folds = len(self.study.folds.used)
        total = self.n_trials * n_folds + self.n_final
        return (self.n_ended * n_folds + self.n_final_done) / total if total else 0.0

    @property
    def state(self) -> str:
        if self.n_final_done == self.n_final and not self.is_sealed:
            return "done"
        return "running" if self.is_at_work else "stopped"


def _metric(spec: Mapping[str, Any], rows: Sequence[EpochRow]) -> str:
    found = _section(spec, "evaluation").get("select_by")
    return found if isinstance(found, str) else next((name for row in rows for name in row.validation), "map@r")


def _section(spec: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = spec.get(name)
    return found if isinstance(found, Mapping) else {}


@dataclass
class _Page:
    """One page as built last: `key` is what it was built from, `due` when it may be built again."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    html: str = ""
    key: object = None
    due: float = 0.0


class Watch:
    """Builds the pages of a run directory; `ranges_of` gives the searched ranges of some runs."""

    def __init__(
        self,
        home: Path,
        chosen: Chosen | None = None,
        *,
        ranges_of: Callable[[Sequence[RunRecord]], Mapping[str, Range]] = lambda _: {},
        pause: float = PAUSE,
    ) -> None:
        self.home, self.chosen = home, chosen or Chosen()
        self._ranges_of, self._pause = ranges_of, pause
        self._pages: dict[str, _Page] = {}

    def page(self, slug: str) -> str | None:
        """Return a page of a name ('' for the overview), built again if that is due; None for an unknown name."""
        kind, _, study = slug.partition("/")
        is_known = (
            slug == ""
            or (slug == "runs" and (bool(self.chosen.runs) or self.chosen == Chosen()))
            or (kind == "study" and study in self._studies())
        )
        if not is_known:
            return None
        page = self._pages.setdefault(slug, _Page())
        with page.lock:
            started = time.monotonic()
            if started >= page.due:
                self._build(page, study if kind == "study" else None, is_overview=slug == "")
                now = time.monotonic()
                page.due = now + max(self._pause, REST * (now - started))
            return page.html

    def _studies(self) -> dict[str, StudySpec]:
        begun = begun_studies(self.home)
        if self.chosen == Chosen():
            return begun
        return {hash_: study for hash_, study in begun.items() if hash_ in self.chosen.studies}

    def _build(self, page: _Page, study: str | None, *, is_overview: bool) -> None:
        try:
            if is_overview:
                page.html = self._overview()
            else:
                self._build_report(page, study)
        except Exception as error:  # a page that cannot be built must not end the server
            kind = "" if isinstance(error, FairgroundError) else f"{type(error).__name__}: "
            page.html, page.key = _notice("This page could not be made", clean(f"{kind}{error}"), []), None

    def _build_report(self, page: _Page, study: str | None) -> None:
        card = None if study is None else StudyCard.from_study(self._studies()[study], self.home)
        cards = [] if card is None else [card]
        if card is not None and card.is_sealed:
            page.html = _notice("Nothing to report yet", _SEALED, cards)
            return
        done = set(Store(self.home).names())
        names = [name for name in self.chosen.runs if name in done] if study is None else [study]
        try:
            require(bool(names) or not self.chosen.runs, "None of these runs has finished.")
            runs = find_runs(names, self.home)
        except InputError as error:
            page.html, page.key = _notice("Nothing to report yet", str(error), cards), None
            return
        key = [(record.name, record.state, record.provenance.started) for record in runs.records]
        if key != page.key:
            page.html = page_text(replace(runs, ranges=self._ranges_of(runs.records)), live=True)
            page.key = key

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
        return render(
            "overview.html",
            title=f"Running in {self.home.name or self.home}",
            styles=("page.css", "overview.css"),
            live=True,
            notice=None,
            studies=studies,
            report=("" if not has_report else f"{len(wanted)} runs" if wanted else "all runs"),
            cards=cards[:MOST_CARDS],
            n_more_cards=max(0, len(cards) - MOST_CARDS),
            finished=finished[:MOST_FINISHED],
            n_more_finished=max(0, len(finished) - MOST_FINISHED),
            counts={state: states.count(state) for state in dict.fromkeys(("running", "done", *sorted(states)))},
            complaints=complaints,
        )


def _notice(title: str, sentence: str, studies: Sequence[StudyCard]) -> str:
    """Return a page that says why there is no report."""
    return render(
        "overview.html",
        title=studies[0].question or studies[0].name if studies else title,
        styles=("page.css", "overview.css"),
        live=True,
        notice=(title, sentence),
        studies=studies,
        report="",
        cards=[],
        n_more_cards=0,
        finished=[],
        n_more_finished=0,
        counts={},
        complaints=[],
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
        """Tell whether a Host header names this machine; a number cannot be made to point here by others."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        return _is_address(name) or name in {"localhost", self.host.lower(), socket.gethostname().lower()}

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a reader may close the window in the middle of a page."""


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    server_version, sys_version = "fairground", ""
    #: seconds without a byte after which a connection is closed; http.server bounds lines and headers
    timeout = 15

    def do_GET(self) -> None:
        if not self.server.knows(self.headers.get("Host", "")):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, f"This is not the server you asked for. Open {self.server.url}")
            return
        page = self.server.watch.page(self.path.partition("?")[0].removeprefix("/"))
        if page is None:
            self._send(HTTPStatus.NOT_FOUND, "There is no such page. All pages are listed on the first: /")
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
        """Keep the terminal for what matters."""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
