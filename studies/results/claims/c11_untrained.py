"""C11: what a trunk's weights reach before any training, and whether they matter more than the loss."""

from collections.abc import Iterable, Sequence
from statistics import median

from studies.results.figures import Dot, dot_rows
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, Verdict, listed, points, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import by_data, finals, means, raw_features, split_label, values

STUDIES = ("c11_untrained",)
#: as the paper has it
WAY = "512 axes of judged pictures"
WAYS = ("512 axes of training classes", "128 axes of training classes", WAY, "128 axes of judged pictures")
TRUNKS = {"efficientnet_lite0": "EfficientNet-Lite0", "mobilenet_v2": "MobileNetV2", "resnet50": "ResNet-50"}
#: Recall@1 of untrained trunks, Musgrave et al., table 1
PUBLISHED = {"cub200": {"GoogleNet": 0.411, "BN-Inception": 0.511, "ResNet50": 0.487}}
JUDGED = "cub200"
#: what the heads of C1 begin with
HEADS = "128 axes of training classes"
BEFORE = f"efficientnet_lite0, {HEADS}"
#: how the name begins of the way that takes all features, as many as a trunk has
RAW = "all "


def page(runs: Sequence[ExportedRun], trained: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the measurements of `STUDIES`, and of C1 for what training adds."""
    if not runs:
        return None
    recall = {data: means(values(some, "recall@1")) for data, some in by_data(runs, DATA).items()}
    after = {
        data: list(means(values(finals(some), "recall@1")).values())
        for data, some in by_data(trained, DATA).items()
        if data in recall and finals(some)
    }
    whole = {data: raw_features(some)["recall@1"] for data, some in by_data(runs, DATA).items()}
    judged = _with_trunks(recall)
    changed = [
        data
        for data in judged
        if {_verdict(recall[data], after, data, way) for way in (WAY, HEADS, RAW)}
        != {_verdict(recall[data], after, data)}
    ]
    return Page(
        name="c11_untrained",
        title="C11. What do untrained trunks reach?",
        question=(
            "How far do pretrained weights get on unseen classes by themselves, and do they matter more than losses?"
        ),
        source=(
            "Musgrave et al., 2.1 and table 1: untrained trunks differ by ten points of Recall@1 on CUB (41.1 to "
            "51.1), so that much of a reported gain can be the network's."
        ),
        fixed="with the first rows on CUB (17 November 2026), for the other sets when their rows were known",
        counts=(
            "the trunk moves Recall@1 more than the loss does if the best and the worst untrained trunk (512 principal "
            "axes of the judged pictures) are further apart than the best and the worst trained method of C1; it does "
            "not if they are closer; with one trunk nothing can be told. One deterministic measurement per trunk: no "
            "interval."
        ),
        short=_short(recall, after),
        headline=_headline(runs, trained, after),
        answers=[_answer(data, recall[data], after) for data in judged],
        sections=[
            Section(heading="Recall@1 of untrained trunks", text=_table(recall)),
            Section(heading="What training a head adds", text=_trained(recall, whole, after)),
        ],
        pictures=[
            Picture(
                name="c11_untrained",
                caption=(
                    "Test Recall@1 in per cent before and after training a head of 128 dimensions on "
                    "EfficientNet-Lite0 features, and untrained trunks on 512 principal axes of the judged "
                    "pictures, on "
                    "CUB also as Musgrave et al. publish them (MLRC)."
                ),
                draw=dot_rows(
                    {data: _dots(data, recall[data], whole[data], after[data]) for data in after}, {}, "Recall@1, %"
                ),
                size=(3.8 * min(3, len(after)), 2.6 * -(-len(after) // 3)),
            )
        ]
        if after
        else [],
        limits=[
            "One deterministic measurement a row: no seeds, no interval.",
            "Two trunks on Cars, pets and fruits, three on CUB, against 25 losses: more would lie further apart.",
            "The rule compares trunks on 512 axes of the judged pictures, as the paper has them, with heads of 128 "
            "dimensions that begin with axes of training classes. On those axes there are two trunks, for ResNet-50's "
            "features are of the test half alone. By them, or by raw features, "
            + (
                f"the verdict would be another on {listed([SHORT[data] for data in changed])}."
                if changed
                else "no verdict would be another."
            ),
            "Most breeds of pets are among the classes of ImageNet-1k, which the weights were trained on.",
            *(f"{name} is outstanding." for trunk, name in TRUNKS.items() if trunk not in _untrained(recall[JUDGED])),
        ],
        studies=STUDIES,
        runs=runs,
    )


def _untrained(one: dict[str, float], way: str = WAY) -> dict[str, float]:
    """Return Recall@1 by trunk in the way whose name begins so, by default as the paper measures it."""
    return {split_label(label)[0]: value for label, value in one.items() if split_label(label)[1].startswith(way)}


def _range(after: Sequence[float]) -> float:
    return after[0] - after[-1]


def _with_trunks(recall: dict[str, dict[str, float]]) -> list[str]:
    """Return the data sets that can be judged: the paper's, and those with rows of more than one trunk."""
    return [data for data, one in recall.items() if data == JUDGED or len(_untrained(one)) > 1]


def _apart(one: dict[str, float], way: str = WAY) -> float:
    found = _untrained(one, way).values()
    return max(found) - min(found)


def _verdict(one: dict[str, float], after: dict[str, list[float]], data: str, way: str = WAY) -> Verdict:
    can_tell = len(_untrained(one, way)) > 1 and len(after.get(data, [])) > 1
    gap, apart = (_range(after[data]), _apart(one, way)) if can_tell else (0.0, 0.0)
    return verdict_of(holds=apart > gap, fails=apart < gap)


def _answer(data: str, one: dict[str, float], after: dict[str, list[float]]) -> Answer:
    gap, apart = _range(after[data]) if data in after else 0.0, _apart(one)
    told = ", ".join(f"{TRUNKS[trunk]} {points(value)}" for trunk, value in _untrained(one).items())
    return Answer(
        data=data,
        verdict=_verdict(one, after, data),
        sentence=(
            f"Untrained Recall@1: {told}, {points(apart)} points apart; the best trained method and the worst one are "
            f"{points(gap)} apart. Without axes of judged pictures, raw features are {points(_apart(one, RAW))} apart, "
            f"and on the axes that heads begin with ({HEADS}) {_alike(one)}."
        ),
    )


def _alike(one: dict[str, float]) -> str:
    found = _untrained(one, HEADS)
    return f"{listed([TRUNKS[trunk] for trunk in found])} are {points(_apart(one, HEADS))} apart"


def _headline(runs: Sequence[ExportedRun], trained: Sequence[ExportedRun], sets: Iterable[str]) -> str:
    worse: dict[str, list[str]] = {"recall@1": [], "map@r": []}
    n_heads = 0
    for data in sets:
        whole, heads = raw_features(by_data(runs, DATA)[data]), finals(by_data(trained, DATA)[data])
        for metric, cells in worse.items():
            found = means(values(heads, metric)).values()
            cells.append(f"{sum(value < whole[metric] for value in found)} ({SHORT[data]})")
            n_heads = max(n_heads, len(found))
    return (
        "**Raw features can beat trained heads.** EfficientNet-Lite0's 1,280 numbers as they are have more Recall@1 "
        f"than {listed(worse['recall@1'])} of {n_heads} heads of 128, and more MAP@R than {listed(worse['map@r'])}; "
        "they are ten times as wide."
        if worse["map@r"]
        else ""
    )


def _short(recall: dict[str, dict[str, float]], after: dict[str, list[float]]) -> str:
    parts = [
        f"{points(_apart(recall[data]))} against {points(_range(some))} ({SHORT[data]})"
        for data, some in after.items()
        if data in _with_trunks(recall)
    ]
    return f"Points of Recall@1 from best to worst, untrained trunks against trained heads: {', '.join(parts)}."


def _table(recall: dict[str, dict[str, float]]) -> str:
    rows = []
    for data, one in recall.items():
        for trunk, name in TRUNKS.items():
            cells = {split_label(label)[1]: value for label, value in one.items() if split_label(label)[0] == trunk}
            if cells:
                whole = next(points(value) for way, value in cells.items() if way.startswith("all "))
                rows.append(
                    [f"{SHORT[data]}, {name}", whole, *(points(cells[way]) if way in cells else "" for way in WAYS)]
                )
    return table(["data, trunk", "all features", *WAYS], rows)


def _trained(recall: dict[str, dict[str, float]], whole: dict[str, float], after: dict[str, list[float]]) -> str:
    rows = []
    for data, some in after.items():
        before = recall[data][BEFORE]
        below = [f"{sum(value < level for value in some)} of {len(some)}" for level in (whole[data], before)]
        rows.append([SHORT[data], points(whole[data]), points(before), points(median(some)), points(some[0]), *below])
    header = ["data", "all features", "128 axes", "median method", "best method"]
    header += ["methods below all features", "methods below the axes"]
    note = (
        "Test Recall@1 of heads of 128 dimensions on EfficientNet-Lite0 features (C1). The axes are those of all "
        "training classes; the untrained row of C1 has the axes of the 80 % of them that its runs train on, and "
        "differs "
        "by up to 0.3 points."
    )
    return f"{table(header, rows)}\n\n{note}"


def _dots(data: str, one: dict[str, float], whole: float, after: Sequence[float]) -> list[Dot]:
    rows = {f"{TRUNKS[trunk]}, untrained": value for trunk, value in _untrained(one).items()}
    rows |= {f"{name}, untrained (MLRC)": value for name, value in PUBLISHED.get(data, {}).items()}
    rows |= {
        "Lite0, 128 axes, untrained": one[BEFORE],
        "Lite0, all features, untrained": whole,
        "Lite0, median head": median(after),
        "Lite0, best head": after[0],
    }
    ordered = sorted(rows.items(), key=lambda item: -item[1])
    return [(name, 100 * value, 100 * value, 100 * value, []) for name, value in ordered]
