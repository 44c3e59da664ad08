"""C3: whether rho-regularisation raises Recall@1 of ranking losses, by which reading, and how much to switch."""

import re
from collections.abc import Sequence

from studies.results.arithmetic import Mean, over_losses, paired_gains
from studies.results.figures import line_panels
from studies.results.page import (
    DATA,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    gain_in_words,
    interval,
    listed,
    points,
    signed,
    table,
    verdict_of,
)
from studies.results.records import ExportedRun
from studies.results.select import Table, finals_by_data, means, seeds_in_words, values

STUDIES = ("c3_features_cub200", "c3_icons")
BASE = "Margin (D, β = 0.6)"
BOUND = 0.005
#: five losses twice, four further shares, two further readings
N_ROWS = 16


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the runs of `STUDIES`."""
    found = finals_by_data(runs, DATA)
    if not found:
        return None
    recall = {data: values(some, "recall@1") for data, some in found.items()}
    gains = {data: gains_of(one) for data, one in recall.items()}
    overall = {data: over_losses(one) for data, one in gains.items()}
    return Page(
        name="c03_rho_regularisation",
        title="C3. Does ρ-regularisation help ranking losses?",
        question="Does switching some tuples raise test Recall@1 of ranking losses, and how much should be switched?",
        source=(
            "Roth et al., table 2 bottom, figures 7 and 8: it raises ranking losses, the margin loss (β = 0.6) "
            "from 62.50 to 64.93 on "
            "CUB and from 77.70 to 82.37 on Cars196, selected on the test split."
        ),
        counts=(
            "it holds if the mean gain in test Recall@1 over the five losses is above 0 by its 95 % interval "
            "(differences on shared "
            "seeds, one mean a loss, t over the losses); it does not hold if the interval lies below half a "
            "point; else cannot tell."
        ),
        short="What it changes in Recall@1, mean over five ranking losses: "
        + ", ".join(f"{SHORT[data]} {signed(one.mean)} points" for data, one in overall.items())
        + ".",
        headline="ρ-regularisation changes Recall@1 of ranking losses by "
        + listed([f"{gain_in_words(one)} points on {SHORT[data]}" for data, one in overall.items()])
        + "; its paper reports that the margin loss gains 2.4 on CUB and 4.7 on Cars.",
        answers=[_answer(data, one) for data, one in overall.items()],
        sections=[
            Section(heading="Gain of each loss", text=_gain_table(gains, found)),
            Section(heading="Three readings of the text", text=_readings(recall)),
        ],
        pictures=[
            Picture(
                name="c03_p_switch",
                caption=(
                    "Test Recall@1 in per cent of the margin loss (β = 0.6) against the share of anchors whose "
                    "tuple is switched."
                ),
                draw=line_panels({data: [_curve(one)] for data, one in recall.items()}, "p_switch", "Recall@1, %"),
                size=(3.4 * len(found), 2.9),
            )
        ],
        limits=[
            "Settings and shares are those published for fine-tuned networks on CUB, not searched here.",
            "On features only a linear head is trained; the icons' network is small. The published gains are of "
            "ResNet-50.",
            seeds_in_words(row for one in recall.values() for row in one.values()),
            *(
                f"Not finished on {SHORT[data]}: some shares of the curve, or the other two readings."
                for data, one in recall.items()
                if len(one) < N_ROWS
            ),
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def gains_of(recall: Table) -> dict[str, Mean]:
    """Return each loss' mean gain over shared seeds with its interval."""
    return paired_gains(recall, {method: (method, f"R-{method}") for method in recall})


def _answer(data: str, gain: Mean) -> Answer:
    verdict = verdict_of(holds=gain.low > 0, fails=gain.high < BOUND)
    ends = interval(gain.low, gain.high)
    sentence = f"Mean gain in Recall@1 over the five losses: {signed(gain.mean)} points, interval {ends}."
    return Answer(data=data, verdict=verdict, sentence=sentence)


def _gain_table(gains: dict[str, dict[str, Mean]], found: dict[str, list[ExportedRun]]) -> str:
    rows = []
    for data, one in gains.items():
        rho = means(values(found[data], "rho", "train"))
        for method, gain in one.items():
            change = rho[f"R-{method}"] - rho[method] if rho else float("nan")
            rows.append([f"{SHORT[data]}, {method}", gain_in_words(gain), f"{change:+.3f}"])
    return table(["loss", "gain in Recall@1, points", "change of ρ"], rows)


def _readings(recall: dict[str, Table]) -> str:
    names = {"without": BASE, "code": f"R-{BASE}", "replace": f"R-{BASE}, replace", "swap": f"R-{BASE}, swap"}
    rows = []
    for data, one in recall.items():
        found = means(one)
        rows.append([DATA[data], *(points(found[method]) if method in found else "" for method in names.values())])
    note = (
        "Recall@1 of the margin loss (β = 0.6), p_switch 0.4. *Code*: (a, a, p'), what the benchmark runs of the "
        "paper do; *replace*: "
        "(a, p, p), its toy example; *swap*: (a, n, p), its words."
    )
    return f"{table(['data', *names], rows)}\n\n{note}"


def _curve(recall: Table) -> tuple[str, list[float], list[float]]:
    found = means(recall)
    shares = {0.0: found[BASE], 0.4: found[f"R-{BASE}"]}
    for method, value in found.items():
        said = re.search(r", p ([\d.]+)$", method)
        if said:
            shares[float(said[1])] = value
    ordered = sorted(shares.items())
    return "margin", [share for share, _ in ordered], [100 * value for _, value in ordered]
