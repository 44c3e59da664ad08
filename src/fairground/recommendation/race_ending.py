"""The end of a session: the chosen method trained on all seen classes, the test classes opened, everything written."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairground.adaptation.adapter import AdaptedModel
from fairground.adaptation.final_model import write_final_model
from fairground.deploy.metadata import Threshold
from fairground.files import write_atomically
from fairground.recommendation.advice import (
    FoldSummary,
    UnsealedScores,
    advice_of,
    table_columns,
    table_rows,
    verdicts_of,
)
from fairground.recommendation.decision import Decision
from fairground.recommendation.ending_rehearsal import EndingRehearsal
from fairground.recommendation.unsealing import Unsealing
from fairground.reporting.headings import duration
from fairground.reporting.race_page import RacePage, write_race_page

if TYPE_CHECKING:
    from fairground.recommendation.race_session import RaceSession


class RaceEnding:
    """Ends a session: `end` may be called whatever it has come to."""

    def __init__(self, session: "RaceSession") -> None:
        self.session = session
        self.asked, self.bench = session.asked, session.bench
        self.state, self.clock, self.progress = session.state, session.clock, session.progress

    def end(self, *, is_stopped: bool) -> dict[str, Any]:
        """Choose, train the chosen method on all seen classes, open the test classes, and write everything."""
        self.clock.reserve = 0.0
        self.bench.adapter.tick = lambda: None
        found = self.session.decision()
        model: AdaptedModel | None = None
        thresholds: tuple[Threshold, ...] = ()
        test = UnsealedScores()
        if len(self.session.rows):
            self.progress.news(f"training the model to hand over: {found.chosen.label}")
            prepared = EndingRehearsal(self.session).prepare(found.chosen.candidate)
            model, thresholds = prepared.model, prepared.thresholds
            if not is_stopped:
                test = Unsealing(self.session, found, model).open()
        self._write_model(found, model, thresholds, test)
        return self.write_page(found, test, is_stopped=is_stopped)

    def _write_model(
        self, found: Decision, model: AdaptedModel | None, thresholds: Sequence[Threshold], test: UnsealedScores
    ) -> None:
        """Write the model folder and the plan that makes it again."""
        spec = self.session.spec(found.chosen.candidate)
        adapted = self._untouched() if model is None else model
        scores = {"validation": found.chosen.scores, "test": dict(test.scores.get(found.chosen.label, {}))}
        rows = np.sort(self.session.rows)
        checksum = write_final_model(
            self.bench,
            spec,
            adapted,
            self.state.model,
            name=self.state.name,
            scores=scores,
            thresholds=thresholds,
            notes=(f"chosen by `fairground recommend`: {found.chosen.label}",),
            rows=rows if len(rows) else self.bench.seen,
        )
        plan = {
            "adaptation": spec.to_plain(),
            "is_small": self.bench.is_small,
            "rows": rows.tolist(),
            "views": self.bench.n_views(spec.depth),
            "threads": self.session.threads(found.chosen.candidate),
            "weights_sha256": checksum,
        }
        write_atomically(self.state.plan, json.dumps(plan).encode())
        self._write_frozen(found, test)

    def _write_frozen(self, found: Decision, test: UnsealedScores) -> None:
        """Where the test classes say that the frozen network is better, it is there too."""
        if found.is_frozen or test.comparison is None:
            return
        pair = test.comparison.pair(found.chosen.label, found.frozen.label)
        if pair.verdict == "better" and pair.a == found.frozen.label:
            spec = self.session.spec(found.frozen.candidate)
            write_final_model(
                self.bench,
                spec,
                self.session.fit(found.frozen.candidate),
                self.state.path / "frozen",
                name=self.state.name,
                scores={"validation": found.frozen.scores, "test": dict(test.scores[found.frozen.label])},
                thresholds=(),
                notes=("the network as it was",),
                rows=np.sort(self.session.rows),
            )

    def _untouched(self) -> AdaptedModel:
        """Return the network as it is, of which nothing has been measured yet."""
        spec = self.session.spec(self.session.race.frozen[0])
        return self.bench.adapter.untrained(spec, self.bench.width)

    def write_page(self, found: Decision, test: UnsealedScores, *, is_stopped: bool) -> dict[str, Any]:
        """Write the page, and return all that it says as plain data."""
        elapsed = self.state.spent + self.clock.seconds()
        classes = len(self.session.folds.classes) if len(self.session.rows) else 0
        folds = FoldSummary(
            n_classes=classes,
            n_folds=self.session.folds.n_folds if classes else 1,
            n_repeats=found.chosen.n_repeats,
        )
        advice = advice_of(found, test, folds, first=self.asked.by, elapsed=elapsed)
        columns = table_columns(self.asked.shown, is_open=test.is_open)
        rows = table_rows(found, test, self.asked.shown)
        page = RacePage(
            title=self.asked.title,
            frozen=found.frozen.label,
            advice=advice,
            columns=columns,
            rows=rows,
            verdicts=verdicts_of(found),
            steps=self.progress.sentences,
            commands=(
                f"fairground embed {self.state.model.absolute()} MY_IMAGES -o embeddings.npz",
                f"fairground reproduce {self.state.name} --home {self.state.home.absolute()}",
            ),
            counts={
                "images": str(len(self.bench.table.labels)),
                "methods tried": str(found.n_tried),
                "measurements": str(len(self.session.known)),
                "time": duration(elapsed),
            },
        )
        write_race_page(page, self.state.page)
        return {
            "name": self.state.name,
            "size": f"{len(self.bench.table.labels)}, {len(np.unique(self.bench.table.labels))}",
            "chosen": found.chosen.label,
            "is_frozen": found.is_frozen,
            "metric": found.metric,
            "advice": advice,
            "columns": list(columns),
            "rows": [list(row) for row in rows],
            "validation": {method.label: method.scores for method in found.methods},
            "test": {label: dict(scores) for label, scores in test.scores.items()},
            "verdicts": verdicts_of(found),
            "n_tried": found.n_tried,
            "n_measurements": len(self.session.known),
            "is_stopped": is_stopped,
        }
