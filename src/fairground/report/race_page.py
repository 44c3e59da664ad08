"""The page of a race: its advice and ranking first, then all that a report says of the runs it opened."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairground.recommend.run_race import RaceResult
from fairground.records.record import RunRecord
from fairground.report.advice import RANKING, ranking_of
from fairground.report.audits import audit_card
from fairground.report.headings import heading
from fairground.report.page import build_page
from fairground.report.run_set import RunSet
from fairground.report.summary import Summary


def write_race_page(
    found: RaceResult,
    *,
    title: str,
    steps: Sequence[str],
    advice: Sequence[str],
    audit: Mapping[str, Any],
    metric: str,
    home: Path,
    out: Path,
) -> Path:
    """Write the page; `steps` is how data, network and plan were chosen, `audit` what `data check --json` says."""
    trained = [run for standing in found.recommendation.leaders for run in standing.runs]
    untrained = [run for standing in found.baselines for run in standing.runs]
    records = [*trained, *(_untrained(run) for run in untrained)]
    names = {run.method: standing.label for standing in (*found.standings, *found.baselines) for run in standing.runs}
    known = [_as_known(record, is_sealed=found.is_sealed) for record in records]
    return build_page(
        RunSet.in_home(known, home, names=names, title=title),
        out=out,
        audits=[audit_card(audit, title=title)],
        summary=Summary(
            sentences=tuple(advice),
            steps=tuple(steps),
            columns=(RANKING[0], *(f"{heading(metric)}, {split}" for split in RANKING[1:3]), *RANKING[3:]),
            rows=tuple(tuple(row) for row in ranking_of((*found.standings, *found.baselines), metric=metric)),
        ),
    )


def _untrained(record: RunRecord) -> RunRecord:
    """Give untrained networks a protocol of their own: another budget is not comparable and needs its own section."""
    return replace(record, spec={**record.spec, "protocol": f"{record.spec.get('protocol')}, untrained"})


def _as_known(record: RunRecord, *, is_sealed: bool) -> RunRecord:
    """Show a run that waits, test split sealed, by its validation scores instead of as unfinished."""
    if record.state != "pruned" or not is_sealed:
        return record
    return replace(record, state="done", failure=None, notes=(*record.notes, f"not finished: {record.failure}"))
