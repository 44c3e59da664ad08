"""How probably a method is the best, and what would settle it: never at odds with the verdicts."""

import pytest

from fairground.reporting.comparison import ComparisonResult, confidence_of
from tests.reporting.test_tables import runs


def confidence(*groups):
    records = [run for group in groups for run in group]
    comparison = ComparisonResult.from_records(records)
    return comparison, confidence_of(comparison)


def test_what_would_settle_it_is_said_against_the_leader():
    comparison, found = confidence(
        runs("a", 0.50, 0.51, 0.52, 0.50),
        runs("b", 0.44, 0.52, 0.53, 0.45),
        runs("c", 0.10, 0.12, 0.11, 0.10),
        runs("d", 0.09, 0.12, 0.10, 0.10),
    )
    assert comparison.best == ("a", "b")
    told = {chance.label: chance.settled_by for chance in found.chances}
    assert told["a"] == "highest mean"
    assert told["b"].startswith("about ")
    assert (told["c"], told["d"]) == ("settled", "settled")
    chances = {chance.label: chance.probability for chance in found.chances}
    assert sum(chances.values()) == pytest.approx(1)
    assert chances["a"] > chances["b"] > chances["c"] == 0
    assert (found.n_more, len(found.sentences)) == (0, 6)


def test_one_method_or_one_seed_has_no_chances():
    assert confidence(runs("a", 0.5, 0.6))[1] is None
    comparison, found = confidence(runs("a", 0.5), runs("b", 0.4))
    assert comparison.how_to_read() == "By MAP@R; single runs have no interval:"
    assert found.chances == ()
    assert found.sentences == ("a and b: not settled; a verdict needs at least two runs of each",)
