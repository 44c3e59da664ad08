"""Methods that all data sets have, compared over them: ranks and mean differences."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairground import reporting
from fairground.comparison import LEVEL, OverDatasets
from fairground.comparison.over_datasets import over_datasets
from fairground.reporting import ResultTable, heading, indented, plain_pair, sentence, shorten, text_table
from fairground.spec import canonical_json, in_unit, require


class OverTables(NamedTuple):
    """Methods compared over data sets; `left_out` are the methods that some data set lacks."""

    found: OverDatasets
    metric: str
    left_out: tuple[str, ...]
    tables: Mapping[str, ResultTable]

    @property
    def lead(self) -> str:
        at = f"{100 * self.found.level:g} %"
        datasets = ", ".join(shorten(name, 60) for name in self.found.datasets)
        runs = (run for table in self.tables.values() for row in table.rows for run in row.done)
        is_one = len({canonical_json(run.spec["data"]) for run in runs}) == 1
        shared = " They are splits of one data set, so that nothing here is about other data." if is_one else ""
        missing = f" Not on every data set, and left out: {', '.join(self.left_out)}." if self.left_out else ""
        return (
            f"By {heading(self.metric)} on {len(self.found.datasets)} data sets ({datasets}). Rank 1 is best; the "
            f"intervals of all ranks hold at once at {at}, by resampling data sets and seeds. Ranks say how often "
            f"a method is ahead, mean differences by how much.{shared}{missing}"
        )

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Method and mean rank with its interval, best rank first."""
        return [
            (one.name, f"{one.rank:.2f} [{one.rank_low:.2f}, {one.rank_high:.2f}]") for one in self.found.aggregates
        ]

    @property
    def sentences(self) -> list[str]:
        return [sentence(pair, self.metric) for pair in self.found.improvement.pairs]

    @property
    def figures(self) -> list["reporting.ReportFigure"]:
        from fairground.reporting.figures import scores_and_ranks

        further = scores_and_ranks.score_against_distance(self.tables, [one.name for one in self.found.aggregates])
        ranks = scores_and_ranks.ranks_over_datasets(self.found, metric=self.metric)
        return [ranks] if further is None else [further, ranks]

    def text(self) -> str:
        table = text_table([("method", "mean rank"), *self.rows])
        differences = ["Mean differences over data sets:", *indented(self.sentences)]
        return "\n".join([f"Over data sets. {self.lead}", table, *differences]) + "\n"

    def plain(self) -> dict[str, Any]:
        pairs = zip(self.found.improvement.pairs, self.sentences, strict=True)
        return {
            "metric": self.metric,
            "datasets": list(self.found.datasets),
            "level": self.found.level,
            "methods": [dict(vars(one)) for one in self.found.aggregates],
            "left_out": list(self.left_out),
            "pairs": [plain_pair(pair, said) for pair, said in pairs],
        }


def over_tables(tables: Mapping[str, ResultTable], *, level: float = LEVEL, margin: float | None = None) -> OverTables:
    """Compare the tables of several data sets, by their names; refused where they have too little in common."""
    require(len(tables) >= 2, f"comparing over data sets needs at least 2 of them; got {', '.join(tables) or 'none'}")
    metrics = dict.fromkeys(table.primary for table in tables.values())
    require(len(metrics) == 1, f"comparing over data sets needs one metric; the tables have {', '.join(metrics)}")
    (metric,) = metrics
    directions = {table.higher_is_better.get(metric) for table in tables.values()}
    require(None not in directions, f"{metric} does not declare a direction, so methods cannot be ranked by it")
    values = {dataset: table.values() for dataset, table in tables.items()}
    labels = list(dict.fromkeys(label for found in values.values() for label in found))
    common = [label for label in labels if all(label in found for found in values.values())]
    names = "; ".join(f"{dataset} has {', '.join(found)}" for dataset, found in values.items())
    require(len(common) >= 2, f"comparing over data sets needs at least 2 methods that all of them have; {names}")
    found = over_datasets(
        {dataset: {label: by[label] for label in common} for dataset, by in values.items()},
        level=level,
        margin=None if margin is None else in_unit(metric, margin),
        higher_is_better=False not in directions,
    )
    return OverTables(
        found=found, metric=metric, left_out=tuple(label for label in labels if label not in common), tables=tables
    )
