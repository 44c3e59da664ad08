"""Everything a page says of one study is read from one comparison: no mark, number or sentence contradicts another."""

import numpy as np
import pytest

from fairground.reporting import caption, compare_records, confidence_of, headline_of, sentence_in
from tests.reporting.test_result_table import runs

#: half a 95 % interval of three runs over their standard deviation, as the demo's table printed it
HALF = 2.4841
#: mean and half width in per cent, and how the runs lie around the mean
DEMO = {
    "contrastive": (26.82, 2.20, (1, -1, 0)),
    "triplet": (25.10, 1.90, (0, 1, -1)),
    "margin": (24.40, 1.80, (-1, 0, 1)),
    "proxy-anchor": (20.79, 1.53, (0, 1, -1)),
}


def demo():
    values = {label: [(mean + x * half / HALF) / 100 for x in signs] for label, (mean, half, signs) in DEMO.items()}
    return [run for label in DEMO for run in runs(label, *values[label])]


def drawn(seed):
    random = np.random.default_rng(seed)
    n, scatter, gap = random.integers(2, 6), random.choice([0.0005, 0.005, 0.02]), random.choice([0.0, 0.01, 0.05])
    metric = random.choice(["map@r", "eer"])
    return [
        run
        for i in range(random.integers(3, 6))
        for run in runs(f"m{i}", *(0.3 + gap * i + scatter * random.normal(size=n)), metric=str(metric))
    ]


@pytest.mark.parametrize("study", [demo(), *(drawn(seed) for seed in range(12))], ids=["demo", *map(str, range(12))])
def test_no_sentence_contradicts_another(study):
    found = compare_records(study)
    means = {row.label: row.cells[found.primary].interval.mean for row in found.rows}
    for pair in found.comparison.pairs:
        said = sentence_in(found, pair)
        leaves_out_zero = pair.low > 0 or pair.high < 0
        assert leaves_out_zero == (" is better " in said) == (pair.verdict == "better")
        assert (" are equivalent: " in said) == (pair.verdict == "equivalent")
        assert ("not settled" in said) == (pair.verdict == "unsettled")
        assert ("significant on its own" in said) == (pair.reason == "separated alone")
        assert pair.difference == pytest.approx(means[pair.a] - means[pair.b], abs=1e-12)
    _check_marks(found)
    _check_headline(found)
    _check_chances(found)


def _verdicts(found):
    leader = found.comparison.methods[0].name
    return leader, {pair.b: pair.verdict for pair in found.comparison.pairs if pair.a == leader}


def _check_marks(found):
    leader, verdicts = _verdicts(found)
    marks = {row.label: row.cells[found.primary].mark for row in found.rows}
    assert found.rows[0].label == leader
    assert {label for label, mark in marks.items() if mark} == set(found.best)
    assert all(verdicts[label] == mark for label, mark in marks.items() if mark and label != leader)
    assert marks[leader] == ("unsettled" if "unsettled" in [marks[label] for label in verdicts] else "best")
    legend = caption(found)
    assert ("≈" in legend, "?" in legend) == ("equivalent" in marks.values(), "unsettled" in marks.values())


def _check_headline(found):
    leader, verdicts = _verdicts(found)
    said = headline_of(found)
    assert said.startswith(f"{leader} ")
    assert (" is best: " in said) == (found.best == (leader,))
    assert ("equivalent to it" in said) == any(verdicts.get(label) == "equivalent" for label in found.best)
    unsettled = any(verdicts.get(label) == "unsettled" for label in found.best)
    assert ("not significantly different from it" in said) == unsettled


def _check_chances(found):
    for chance in confidence_of(found)["chances"]:
        label = chance["label"]
        assert chance["is_among_best"] == (label in found.best)
        assert chance["is_among_best"] or chance["probability"] < 0.5
