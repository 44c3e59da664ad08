"""Verdicts as sentences: what was found, with its numbers; for open pairs also why, and what would settle them."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairground.comparison.comparison_result import Comparison, Pair

Show = Callable[[float], str]


def sentence_of(pair: "Pair", *, show: Show | None = None, unit: str = "", better: str = "") -> str:
    """Return the verdict on one pair; `show` writes a number, `unit` follows it.

    `better` replaces the word for a method that leads, such as "higher" for a value without a good direction.
    """
    show = show or shown_like(pair)
    seeds = _rests_on(pair)
    if pair.low is None or pair.high is None:
        needed = "at least two runs of each" if pair.prospect == "advised" else "the first look at all methods"
        return f"{pair.a} and {pair.b}: not settled; a verdict needs {needed}"
    ends = (pair.low, pair.high) if pair.higher_is_better else (-pair.high, -pair.low)
    by = f"{show(abs(pair.difference))} [{', '.join(map(show, ends))}]{unit}"
    if pair.verdict == "better":
        small = f", which is less than the margin of {show(pair.margin)}{unit}" if pair.is_small else ""
        word = better or ("better" if pair.higher_is_better else "better (lower)")
        return f"{pair.a} is {word} than {pair.b} by {by}, {shown_p(pair.p)}, {seeds}{small}"
    if pair.verdict == "equivalent":
        within = f"within ±{show(pair.margin)}{unit}"
        return f"{pair.a} and {pair.b} are equivalent: the difference {by} is {within}, {seeds}"
    return f"{pair.a} and {pair.b}: not settled, difference {by}, {_why(pair)}, {seeds}; {_what_would_settle(pair)}"


def summary_of(comparison: "Comparison") -> str:
    """Return who is best, in one sentence."""
    single = comparison.single
    if len(comparison.methods) == 1:
        return f"{comparison.methods[0].name} is the only method."
    if len(comparison.repeated.methods) < 2:
        return f"{comparison.methods[0].name} leads, but one run cannot tell a better method from a lucky one."
    found = _among_repeated(comparison.repeated)
    return f"{found} {no_verdict_on(single)}" if single else found


def no_verdict_on(single: Sequence[str]) -> str:
    """Return why some methods have no verdict, as a sentence."""
    return f"There is no verdict on {join_words(single)}: one run cannot tell a better method from a lucky one."


def _among_repeated(comparison: "Comparison") -> str:
    leader = comparison.methods[0]
    first = [pair for pair in comparison.pairs if leader.name in (pair.a, pair.b)]
    equal = [pair.b for pair in first if pair.verdict == "equivalent"]
    open_ones = [pair.b for pair in first if pair.verdict == "unsettled"]
    if not equal and not open_ones:
        return f"{leader.name} is better than every other method."
    parts = [f"{leader.name} leads"]
    parts += [f"{join_words(equal)} {_is(equal)} equivalent to it"] if equal else []
    parts += [f"{join_words(open_ones)} {_is(open_ones)} not settled against it"] if open_ones else []
    return f"{'; '.join(parts)}."


def shown_p(p: float) -> str:
    """Return a p-value as papers write it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def join_words(words: Sequence[str]) -> str:
    """Return 'a', 'a and b' or 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def shown_like(pair: "Pair") -> Show:
    """Return how to write numbers of a pair: two digits of its interval's half width, nine decimals at most."""
    ends = [end for end in (pair.low, pair.high) if end is not None]
    width = (max(ends) - min(ends)) / 2 if ends else abs(pair.difference)
    width = width or abs(pair.difference) or 1.0
    decimals = min(9, max(0, 1 - math.floor(math.log10(width))))
    return lambda value: f"{value:.{decimals}f}"


def _why(pair: "Pair") -> str:
    if pair.reason == "separated alone":
        return (
            f"significant on its own ({shown_p(pair.p_alone)}), not after correcting for {pair.n_pairs} comparisons "
            f"({shown_p(pair.p)})"
        )
    return f"not significant ({shown_p(pair.p)})"


def _rests_on(pair: "Pair") -> str:
    """Return how many seeds, test classes or both the verdict rests on."""
    seeds = f"{pair.n_a} seeds" if pair.n_a == pair.n_b else f"{pair.n_a} and {pair.n_b} seeds"
    classes = f"{pair.n_classes} test classes"
    datasets = f"{pair.n_shared} data sets"
    return {"seeds": seeds, "classes": classes, "both": f"{seeds} and {classes}", "datasets": datasets}[pair.over]


def _what_would_settle(pair: "Pair") -> str:
    if pair.over != "seeds":
        words = {"classes": "test classes", "both": "seeds or test classes", "datasets": "data sets"}
        return f"more {words[pair.over]} would tell"
    in_waves = {
        "follow": "more seeds of both follow",
        "limit": "both have the most seeds this study gives",
        "none": "this study gives them no more seeds",
    }
    if pair.prospect in in_waves:
        return in_waves[pair.prospect]
    if pair.more_seeds is None:
        return "no feasible number of seeds would resolve this"
    return f"about {pair.more_seeds} more seed{'s' if pair.more_seeds != 1 else ''} of each would settle it"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
