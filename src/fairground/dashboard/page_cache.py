"""Keeps the pages of a watch: one thread looks at the home and rebuilds what changed and is being read.

A study at work comes first. Nothing is built that nobody has asked for lately, nothing more often than every few
seconds, and one that takes long the more rarely: the thread rests three times as long as it worked.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairground.dashboard.home import Chosen, Home, sentence_of
from fairground.dashboard.pages import Served, alive, failed, overview, waiting
from fairground.errors import InputError
from fairground.records.record import RunRecord
from fairground.reporting.find_runs import find_runs
from fairground.reporting.headings import clean
from fairground.reporting.page import page_text
from fairground.spec.space import Range

OVERVIEW = "overview"
#: seconds between looks, how long a page counts as being read, and how much longer than work a rest is
PAUSE, READ_FOR, REST = 2.0, 45.0, 3.0
_SEALED = "The report begins when the search is over: until then the test split is sealed."
#: gives the searched ranges of some runs; the roof has them, since components are of the other wing
RangesOf = Callable[[Sequence[RunRecord]], Mapping[str, Range]]


@dataclass(kw_only=True)
class _Page:
    """One page: what it is about, what was built last, and when and of which state of the store."""

    title: str
    words: tuple[str, ...] = ()
    study: str | None = None
    served: Served | None = None
    mark: int | None = None
    asked: float = float("-inf")
    due: float = float("-inf")
    trouble: str = ""
    is_being_built: bool = False


class PageCache(threading.Thread):
    """`pause` is how many seconds lie between two looks at the home."""

    def __init__(self, root: Path, chosen: Chosen, *, ranges_of: RangesOf = lambda _: {}, pause: float = PAUSE) -> None:
        super().__init__(daemon=True, name="keeper of the pages")
        self._home = Home(root=root, chosen=chosen)
        self._ranges_of, self._pause = ranges_of, pause
        self._changed = threading.Condition()
        self._wake, self._is_over = threading.Event(), threading.Event()
        self._has_looked = False
        self._pages = {OVERVIEW: _Page(title=f"Running in {clean(root.name or str(root))}")}
        if chosen.runs:
            self._pages["chosen"] = _Page(title=f"{len(chosen.runs)} runs", words=chosen.runs)
        elif chosen.is_everything:
            self._pages["runs"] = _Page(title="All runs")

    def page(self, slug: str, *, patience: float = 3.0) -> Served | None:
        """Return a page, waiting a little for one that was never built; None for one there is not."""
        with self._changed:
            # Which studies there are is known from the first look on.
            self._changed.wait_for(lambda: self._has_looked or self._is_over.is_set(), patience)
            page = self._pages.get(slug)
            if page is None and self._has_looked:
                return None
            if page is not None:
                page.asked = time.monotonic()
                if page.served is None:
                    self._wake.set()
                    self._changed.wait_for(lambda: page.served is not None or self._is_over.is_set(), patience)
                if page.served is not None:
                    return page.served
        # The name comes from the address bar: only one of ours may go into the page.
        known, title = (slug, page.title) if page else (OVERVIEW, "A moment")
        nothing = Home(root=self._home.root)
        return waiting(nothing, known, title=title, sentence="The page is being drawn and comes by itself.", study=None)

    def state(self, slug: str) -> dict[str, Any] | None:
        """Return in a few words whether a page has changed, for the page itself to ask."""
        with self._changed:
            page = self._pages.get(slug, _Page(title="") if not self._has_looked else None)
            if page is None:
                return None
            page.asked = time.monotonic()
            return {
                "version": page.served.version if page.served else "",
                "kind": page.served.kind if page.served else "",
                "trouble": page.trouble,
                "is_being_built": page.is_being_built,
                "in_progress": sum(run.state == "under way" for run in self._home.in_progress),
            }

    def run(self) -> None:
        """Look and build until told to end."""
        while not self._is_over.is_set():
            begun = time.monotonic()
            self._look()
            for slug, page in list(self._pages.items()):
                if page.asked >= time.monotonic() - READ_FOR and not self._is_over.is_set():
                    self._build(slug, page)
            self._wake.clear()
            if any(page.served is None and page.asked > begun for page in list(self._pages.values())):
                continue
            self._wake.wait(self._pause)

    def end(self) -> None:
        """Let the thread end; a page under way is finished first."""
        self._is_over.set()
        self._wake.set()
        with self._changed:
            self._changed.notify_all()

    def _look(self) -> None:
        self._home.refresh()
        with self._changed:
            for study in self._home.studies:
                title = study.question or study.name
                self._pages.setdefault(f"study/{study.hash}", _Page(title=title, study=study.hash))
            self._has_looked = True
            self._changed.notify_all()

    def _build(self, slug: str, page: _Page) -> None:
        is_report = slug != OVERVIEW
        now = time.monotonic()
        is_settled = page.served is not None and page.served.kind == "report" and page.mark == self._home.mark
        if is_report and (is_settled or now < page.due):
            return
        mark, trouble = self._home.mark, ""
        page.is_being_built = True
        try:
            served = self._report(slug, page) if is_report else self._overview()
        except Exception as error:  # one page that cannot be built must not end the others
            trouble = sentence_of(error)
            served = failed(self._home, slug, title=page.title, sentence=trouble)
            if page.served is not None and page.served.kind == "report":  # better an old one than none
                served = page.served
        with self._changed:
            page.served, page.mark, page.trouble, page.is_being_built = served, mark, trouble, False
            page.due = time.monotonic() + max(self._pause, REST * (time.monotonic() - now))
            self._changed.notify_all()

    def _overview(self) -> Served:
        links = {slug: page.title for slug, page in self._pages.items() if slug in ("runs", "chosen")}
        return overview(self._home, title=self._pages[OVERVIEW].title, links=links if self._home.runs else {})

    def _report(self, slug: str, page: _Page) -> Served:
        if any(study.hash == page.study and study.is_sealed for study in self._home.studies):
            return waiting(self._home, slug, title=page.title, sentence=_SEALED, study=page.study)
        words = [page.study] if page.study else [name for name in page.words if name in self._home.runs]
        if page.words and not words:
            return waiting(self._home, slug, title=page.title, sentence="None of these runs is finished.", study=None)
        try:
            runs = find_runs(words, self._home.root)
        except InputError as error:
            return waiting(self._home, slug, title=page.title, sentence=str(error), study=page.study)
        report = page_text(replace(runs, ranges=self._ranges_of(runs.records)))
        return alive(report, slug=slug, kind="report")
