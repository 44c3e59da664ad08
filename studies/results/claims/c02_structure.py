"""C2: whether Recall@1 on unseen classes goes with the spectrum of the training classes; what flattening it does."""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from studies.results.arithmetic import Correlation, Mean, at_once, mean_of, over_losses, paired_gains, rank_correlation
from studies.results.coinciding import distinct_values
from studies.results.figures import line_panels, scatter_panels
from studies.results.page import (
    DATA,
    NO_PETS,
    RANKED,
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    effect_of,
    effect_rule,
    gain_in_words,
    interval,
    listed,
    panel_size,
    points,
    signed,
    table,
    verdict_of,
)
from studies.results.records import ExportedRun
from studies.results.select import Table, columns, finals_by_data, means, seeds_in_words, values

#: the runs that change ρ; those of C1 have the correlation
STUDIES = ("c3_features_cub200", "c3_icons")
MEASURES = {
    "rho": "ρ, spectral decay",
    "pi_intra": "π intra",
    "pi_inter": "π inter",
    "pi_ratio": "π ratio",
    "effective_rank": "effective rank",
    "uniformity": "uniformity",
    "alignment": "alignment",
}
BASE = "Margin (D, β = 0.6)"


def page(
    runs: Sequence[ExportedRun], changed: Sequence[ExportedRun] = (), matters: Mapping[str, float] | None = None
) -> Page | None:
    """Return the page of the runs of C1 with analyses and, if they are there, of those with ρ-regularisation."""
    found = {data: some for data, some in finals_by_data(runs, RANKED).items() if ("train", "rho") in some[0].scores}
    if not found:
        return None
    pushed = {data: values(some, "recall@1") for data, some in finals_by_data(changed, DATA).items()}
    n_verdicts = len(found) + 2 * len(pushed)
    level = at_once(n_verdicts)
    measured = {
        data: {
            measure: rank_correlation(*_columns(some, measure), level=level)
            for measure in MEASURES
            if values(some, measure, "train")
        }
        for data, some in found.items()
    }
    gains = {data: gains_of(one) for data, one in pushed.items()}
    overall = {data: over_losses(one, level=level) for data, one in gains.items()}
    slopes = {data: mean_of(_slopes(one), level=level) for data, one in pushed.items() if len(_slopes(one)) > 1}
    line = matters or {}
    used = [*runs, *changed]
    return Page(
        name="c02_structure",
        title="C2. Do flat spectra make embeddings generalise?",
        question=(
            "Does test Recall@1 go with ρ, the decay of the spectrum of the training classes (low where it is flat), "
            "and does pushing ρ down raise Recall@1?"
        ),
        source=(
            "Roth et al., figure 5 and section 5: Recall@1 and ρ have a correlation of -0.63 or stronger on all three "
            "data sets. Table 2 bottom, figures 7 and 8: switching some tuples, which lowers ρ, raises ranking losses, "
            "the margin loss (β = 0.6) from 62.50 to 64.93 on CUB and from 77.70 to 82.37 on Cars196, selected on the "
            "test split."
        ),
        fixed="with the first exported runs (correlation) and before the runs (regularisation), 16 November 2026",
        counts=(
            "the correlation holds if Spearman's correlation of Recall@1 with ρ over methods that differ (means over "
            "seeds) is below 0 by its interval (methods resampled); it does not hold if the interval is above -0.3. "
            + effect_rule(
                "That pushing ρ down helps is judged by the mean gain in test Recall@1 of five ranking losses "
                "(differences on shared seeds, one mean per loss, t over the losses)",
                n_verdicts,
            )
            + " The dose is judged by the sign of the slope of the margin loss' Recall@1 over the share of switched "
            "anchors, one slope per seed, t over the seeds."
        ),
        short=f"{_correlations(measured)}; pushing ρ down changes Recall@1 by {_changes(overall)} points.",
        answers=[
            *(_answer(data, one["rho"]) for data, one in measured.items()),
            *(_pushed(data, one, line.get(data, 0.0), gains[data]) for data, one in overall.items()),
            *(_dosed(data, one) for data, one in slopes.items()),
        ],
        sections=[
            Section(heading="Correlation of Recall@1 with each measure", text=_table(measured)),
            *_sections(gains, pushed, finals_by_data(changed, DATA)),
        ],
        pictures=[
            Picture(
                name="c02_structure",
                caption=(
                    "Test Recall@1 in per cent against ρ of the training classes, one mark per method (mean over "
                    "seeds)."
                ),
                draw=scatter_panels(
                    {data: _columns(some, "rho") for data, some in found.items()},
                    "ρ",
                    "Recall@1, %",
                    SHORT,
                    scale=(1, 100),
                ),
                size=panel_size(len(found)),
            ),
            *_dose(pushed),
        ],
        limits=[
            "Over methods at one setting each: few points, most of them close together. Methods that coincide (C1) "
            "count once.",
            "On features the head is linear and starts from the principal axes, so that all spectra begin alike; the "
            "network on icons has 0.09 million weights. The published gains are of a fine-tuned ResNet-50.",
            "Settings and shares of switched tuples are those published for fine-tuned networks on CUB, not searched. "
            "The five losses share their miner, and three of them nearly coincide (C1), so that they count for less "
            "than five; SNR with regularisation also has a zero-mean term of 0.005 (erratum E25).",
            NO_PETS,
            *([seeds_in_words(row for one in pushed.values() for row in one.values())] if pushed else []),
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def gains_of(recall: Table) -> dict[str, Mean]:
    """Return each loss' mean gain over shared seeds with its interval."""
    return paired_gains(recall, {method: (method, f"R-{method}") for method in recall})


def _columns(runs: Sequence[ExportedRun], measure: str) -> tuple[np.ndarray, np.ndarray]:
    recall = means(distinct_values(runs, "recall@1"))
    scores, measured = columns(recall, means(values(runs, measure, "train")))
    return measured, scores


def _correlations(measured: Mapping[str, Mapping[str, Correlation]]) -> str:
    parts = ", ".join(f"{SHORT[data]} {one['rho'].value:+.2f}" for data, one in measured.items())
    return f"Rank correlation over methods of Recall@1 with ρ: {parts}"


def _changes(overall: Mapping[str, Mean]) -> str:
    return listed([f"{gain_in_words(one)} on {SHORT[data]}" for data, one in overall.items()])


def _dosed(data: str, slope: Mean) -> Answer:
    return Answer(
        data=f"{SHORT[data]}: switching more helps more",
        verdict=effect_of(slope, 0.0),
        sentence=f"Recall@1 of the margin loss changes by {gain_in_words(slope)} points per tenth of anchors switched.",
    )


def _answer(data: str, rho: Correlation) -> Answer:
    verdict = verdict_of(holds=rho.high < 0, fails=rho.low > -0.3)
    part = f"{SHORT[data]}: flat spectra go with recall"
    return Answer(data=part, verdict=verdict, sentence=f"Rank correlation of Recall@1 with ρ: {rho}.")


def _pushed(data: str, gain: Mean, line: float, gains: Mapping[str, Mean]) -> Answer:
    worse, n = sum(one.high < 0 for one in gains.values()), len(gains)
    return Answer(
        data=f"{SHORT[data]}: flattening them helps",
        verdict=effect_of(gain, line),
        sentence=(
            f"Mean gain in Recall@1 of five losses: {signed(gain.mean)} points, interval over losses "
            f"{interval(gain.low, gain.high)}; {points(line)} would matter. Over seeds, {worse} of {n} losses lose."
        ),
    )


def _table(measured: Mapping[str, Mapping[str, Correlation]]) -> str:
    rows = [
        [name, *(str(one[measure]) if measure in one else "" for one in measured.values())]
        for measure, name in MEASURES.items()
    ]
    return table(["measure of the training classes", *(SHORT[data] for data in measured)], rows)


def _sections(
    gains: Mapping[str, Mapping[str, Mean]], recall: Mapping[str, Table], found: Mapping[str, Sequence[ExportedRun]]
) -> list[Section]:
    if not gains:
        return []
    rows = []
    for data, one in gains.items():
        rho = means(values(found[data], "rho", "train"))
        for method, gain in one.items():
            change = rho[f"R-{method}"] - rho[method] if rho else float("nan")
            rows.append([f"{SHORT[data]}, {method}", gain_in_words(gain), f"{change:+.3f}"])
    shares = {data: _shares(one) for data, one in recall.items()}
    doses = sorted({share for one in shares.values() for share in one})
    by_share = [
        [SHORT[data], *(points(one[share]) if share in one else "" for share in doses)] for data, one in shares.items()
    ]
    return [
        Section(
            heading="What switching tuples changes, by loss",
            text=(
                f"{table(['loss', 'gain in Recall@1, points', 'change of ρ'], rows)}\n\n"
                "Where ρ did not fall, the change of Recall@1 says nothing about flat spectra."
            ),
        ),
        Section(
            heading="The more is switched, the lower the recall",
            text=(
                f"{table(['share of switched anchors', *(f'{share:g}' for share in doses)], by_share)}\n\n"
                "Test Recall@1 of the margin loss (β = 0.6)."
            ),
        ),
        Section(heading="Three readings of the text", text=_readings(recall)),
    ]


def _readings(recall: Mapping[str, Table]) -> str:
    names = {"without": BASE, "code": f"R-{BASE}", "replace": f"R-{BASE}, replace", "swap": f"R-{BASE}, swap"}
    rows = []
    for data, one in recall.items():
        found = means(one)
        rows.append([DATA[data], *(points(found[method]) if method in found else "" for method in names.values())])
    note = (
        "Recall@1 of the margin loss (β = 0.6), p_switch 0.4. *Code*: (a, a, p'), what the benchmark runs of the paper "
        "do; *replace*: (a, p, p), its toy example; *swap*: (a, n, p), its words."
    )
    return f"{table(['data', *names], rows)}\n\n{note}"


def _by_share(recall: Table) -> dict[float, dict[int, float]]:
    """Return Recall@1 by the share of anchors whose tuple is switched, and by seed."""
    shares = {0.0: recall[BASE], 0.4: recall[f"R-{BASE}"]} if BASE in recall else {}
    for method, row in recall.items():
        if share := re.search(r", p ([\d.]+)$", method):
            shares[float(share[1])] = row
    return dict(sorted(shares.items()))


def _shares(recall: Table) -> dict[float, float]:
    return {share: fmean(row.values()) for share, row in _by_share(recall).items()}


def _slopes(recall: Table) -> list[float]:
    """Return for every seed how Recall@1 changes per tenth of anchors switched, by least squares."""
    shares = _by_share(recall)
    seeds = set.intersection(*(set(row) for row in shares.values())) if len(shares) > 1 else set()
    return [float(np.polyfit([*shares], [row[seed] for row in shares.values()], 1)[0]) / 10 for seed in sorted(seeds)]


def _dose(recall: Mapping[str, Table]) -> list[Picture]:
    curves = {data: _shares(one) for data, one in recall.items()}
    if not any(curves.values()):
        return []
    lines = {data: [("margin", list(one), [100 * value for value in one.values()])] for data, one in curves.items()}
    return [
        Picture(
            name="c02_p_switch",
            caption="Test Recall@1 in per cent of the margin loss (β = 0.6) against the share of switched anchors.",
            draw=line_panels(lines, "p_switch", "Recall@1, %"),
            size=(3.4 * len(curves), 2.9),
        )
    ]
