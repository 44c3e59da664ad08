"""Losses under several variants of one setting: what each variant changes from a base, over losses.

A method is called "loss, variant". Differences are taken on shared seeds, one mean per loss, with t over the losses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studies.results.arithmetic import Mean, over_losses, paired_gains
from studies.results.figures import Dot
from studies.results.page import gain_in_words, points, table
from studies.results.select import Table, means, split_label


@dataclass(frozen=True, kw_only=True)
class Variants:
    """Recall@1 (or another metric) by method and seed, and the variants in the order of tables with their names."""

    scores: Table
    base: str
    names: Mapping[str, str]

    @property
    def losses(self) -> list[str]:
        """The losses in the order of the study."""
        return list(dict.fromkeys(split_label(label)[0] for label in self.scores))

    def between(self, before: str, after: str) -> dict[str, Mean]:
        """Return by loss what one variant gains over another."""
        return paired_gains(self.scores, {loss: (f"{loss}, {before}", f"{loss}, {after}") for loss in self.losses})

    @property
    def changes(self) -> dict[str, dict[str, Mean]]:
        """What each variant but the base changes, by loss; those that no loss was tried with are left out."""
        found = {variant: self.between(self.base, variant) for variant in self.names if variant != self.base}
        return {variant: one for variant, one in found.items() if one}

    @property
    def overall(self) -> dict[str, Mean]:
        """What each variant changes on average over the losses."""
        return {variant: over_losses(one) for variant, one in self.changes.items()}

    def table(self, heading: str, last: str) -> str:
        """Return means by variant and loss as Markdown, with the mean change in the last column."""
        found, overall = means(self.scores), self.overall
        rows = []
        for variant, name in self.names.items():
            cells = [found.get(f"{loss}, {variant}") for loss in self.losses]
            if all(cell is None for cell in cells):
                continue
            change = gain_in_words(overall[variant]) if variant in overall else ""
            rows.append([name, *("" if cell is None else points(cell) for cell in cells), change])
        return table([heading, *self.losses, last], rows)

    def dots(self) -> Sequence[Dot]:
        """Return a row a variant: the mean change in points with its interval, single losses as dots."""
        overall = self.overall
        return [
            (
                self.names[variant],
                100 * overall[variant].mean,
                100 * overall[variant].low,
                100 * overall[variant].high,
                [100 * gain.mean for gain in one.values()],
            )
            for variant, one in self.changes.items()
        ]
