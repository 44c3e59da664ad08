"""Which runs may share a table: by every rule and every flag, with every difference listed by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairground.comparison.comparison_result import Comparison
from fairground.comparison.fairness_flags import Flag, find_flags
from fairground.comparison.fairness_rules import Difference, Evidence, find_differences
from fairground.errors import require
from fairground.records.record import RunRecord, SplitName
from fairground.spec.space import Range


@dataclass(frozen=True, kw_only=True)
class FairnessResult:
    """Methods may share a table when there is no difference; flags are shown with it."""

    methods: tuple[str, ...]
    differences: tuple[Difference, ...]
    flags: tuple[Flag, ...]

    @property
    def is_fair(self) -> bool:
        """Tell whether the methods may share a table."""
        return not self.differences

    def refusal(self) -> str:
        """Return in one line by which rules the methods may not share a table."""
        rules_broken = ", ".join(dict.fromkeys(difference.rule for difference in self.differences))
        n = len(self.methods)
        return f"these {n} methods differ in more than what is compared ({rules_broken}), so that no table is fair:"


def compare(
    methods: Mapping[str, Sequence[RunRecord]],
    *,
    metric: str,
    split: SplitName = "test",
    claims: Sequence[tuple[str, str]] = (),
    ranges: Mapping[str, Range] | None = None,
    comparison: Comparison | None = None,
) -> FairnessResult:
    """Apply every rule and flag to the runs of each method, given under its label; `comparison` is what is claimed."""
    require(len(methods) > 0, "there is nothing to compare: no method was given")
    for label, records in methods.items():
        require(len(records) > 0, f"method '{label}' has no runs")
    evidence = Evidence(
        methods={label: tuple(records) for label, records in methods.items()},
        metric=metric,
        split=split,
        claims=tuple(claims),
        ranges=dict(ranges or {}),
        comparison=comparison,
    )
    return FairnessResult(
        methods=tuple(methods),
        differences=tuple(find_differences(evidence)),
        flags=tuple(find_flags(evidence)),
    )
