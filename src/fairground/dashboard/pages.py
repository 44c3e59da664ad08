"""The pages a watch serves: the overview, and a report's page with what keeps it up to date.

A report is a file that asks no host for anything. What makes it live is added here, on its way to the browser: one more
script, which the policy sent along lets run and lets ask this server alone.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from fairground.dashboard.home import Home
from fairground.reporting.drawing import DARK, LIGHT, css_variables
from fairground.reporting.headings import clean
from fairground.reporting.page import TEMPLATES, environment, hash_of

#: an overview lists the latest so many finished runs; the report has them all
MOST_FINISHED = 200
#: and so many runs as cards
MOST_CARDS = 48
Kind = Literal["overview", "report", "waiting", "failed"]


@dataclass(frozen=True, kw_only=True)
class Served:
    """A page as it is sent: `version` changes when the page does, `policy` is what its browser may do."""

    kind: Kind
    body: bytes
    version: str
    policy: str


@cache
def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def overview(home: Home, *, title: str, links: Mapping[str, str]) -> Served:
    """Return the page of all studies and runs; `links` are the reports there are, address to words."""
    finished = home.finished
    states = [run.state for run in (*finished, *home.in_progress)]
    return _filled(
        "overview",
        "overview",
        title=title,
        sentence="",
        home=home,
        links=links,
        studies=home.studies,
        cards=home.in_progress[:MOST_CARDS],
        n_more_cards=max(0, len(home.in_progress) - MOST_CARDS),
        finished=finished[:MOST_FINISHED],
        n_more_finished=max(0, len(finished) - MOST_FINISHED),
        counts={state: states.count(state) for state in dict.fromkeys(("under way", "done", *sorted(states)))},
        complaints=home.complaints,
    )


def waiting(home: Home, slug: str, *, title: str, sentence: str, study: str | None) -> Served:
    """Return the page shown while there is nothing to report yet: why, and how far the study is."""
    studies = [view for view in home.studies if view.hash == study]
    return _words(slug, "waiting", home, title=title, sentence=sentence, studies=studies)


def failed(home: Home, slug: str, *, title: str, sentence: str) -> Served:
    """Return the page that says why there is no other."""
    return _words(slug, "failed", home, title=title, sentence=sentence, studies=[])


def _words(slug: str, kind: Kind, home: Home, *, title: str, sentence: str, studies: Sequence[object]) -> Served:
    return _filled(
        slug,
        kind,
        title=title,
        sentence=sentence,
        home=home,
        links={},
        studies=studies,
        cards=home.in_progress[:MOST_CARDS] if studies else [],
        n_more_cards=0,
        finished=[],
        n_more_finished=0,
        counts={},
        complaints=[],
    )


def _filled(slug: str, kind: Kind, **words: object) -> Served:
    script = _template("page.js")
    title = clean(str(words.pop("title")))
    page = (
        environment()
        .get_template("overview.html")
        .render(
            **words,
            title=title,
            kind=kind,
            style=_template("page.css") + _template("overview.css"),
            script=script,
            script_hash=hash_of(script),
            light=css_variables(LIGHT),
            dark=css_variables(DARK),
        )
    )
    return alive(page, slug=slug, kind=kind)


_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">\n')


def alive(page: str, *, slug: str, kind: Kind) -> Served:
    """Return a page with the script that keeps it up to date; the page's own policy, widened by that, goes ahead."""
    found = _POLICY.search(page)
    assert found is not None, "every page of ours carries its policy"
    script = _template("live.js")
    # The first of each is ours: names from data or specs come further down, and escaped.
    page = page[: found.start()] + page[found.end() :]
    page = page.replace("</style>", _template("live.css") + "</style>", 1)
    version = hashlib.sha256(page.encode("utf-8", "replace")).hexdigest()[:16]
    before, end, after = page.rpartition("</body>")
    # The slug is one of ours, made of a hash or a word.
    states = f'<script data-page="{slug}" data-kind="{kind}" data-version="{version}">{script}</script>\n'
    policy = found[1].replace("script-src ", f"script-src 'sha256-{hash_of(script)}' ", 1)
    policy += "; connect-src 'self'; frame-ancestors 'none'"
    return Served(
        kind=kind, body=(before + states + end + after).encode("utf-8", "replace"), version=version, policy=policy
    )
