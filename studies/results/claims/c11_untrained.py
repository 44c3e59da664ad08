"""C11: what a trunk's weights reach before any training, and whether they matter more than the loss."""

from collections.abc import Sequence
from statistics import median

from studies.results.figures import Dot, dot_rows
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, listed, points, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import by_data, finals, means, split_label, values

STUDIES = ("c11_untrained",)
#: as the paper has it
WAY = "512 axes of judged pictures"
WAYS = ("512 axes of training classes", "128 axes of training classes", WAY, "128 axes of judged pictures")
TRUNKS = {"efficientnet_lite0": "EfficientNet-Lite0", "mobilenet_v2": "MobileNetV2", "resnet50": "ResNet-50"}
#: Recall@1 of untrained trunks, Musgrave et al., table 1
PUBLISHED = {"cub200": {"GoogleNet": 0.411, "BN-Inception": 0.511, "ResNet50": 0.487}}
JUDGED = "cub200"
#: where the heads of C1 start
BEFORE = "efficientnet_lite0, 128 axes of training classes"


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
        fixed="with the first rows of this page (17 November 2026)",
        counts=(
            "the trunk moves Recall@1 more than the loss does if the best and the worst untrained trunk (512 principal "
            "axes of the judged pictures) are further apart than the best and the worst trained method of C1; it does "
            "not if they are closer; with one trunk nothing can be told. One deterministic measurement per trunk: no "
            "interval."
        ),
        short=_short(recall, after),
        headline=_headline(recall, after),
        answers=[_answer(data, recall[data], after.get(data, [])) for data in _with_trunks(recall)],
        sections=[
            Section(heading="Recall@1 of untrained trunks", text=_table(recall)),
            Section(heading="What training a head adds", text=_trained(recall, after)),
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
                draw=dot_rows({data: _dots(data, recall[data], after[data]) for data in after}, {}, "Recall@1, %"),
                size=(3.8 * min(3, len(after)), 2.6 * -(-len(after) // 3)),
            )
        ]
        if after
        else [],
        limits=[
            "One deterministic measurement a row: no seeds, no interval.",
            "Two trunks on Cars, pets and fruits, three on CUB: more of them would lie further apart.",
            "Most breeds of pets are among the classes of ImageNet-1k, which the weights were trained on.",
            *(f"{name} is outstanding." for trunk, name in TRUNKS.items() if trunk not in _untrained(recall[JUDGED])),
        ],
        studies=STUDIES,
        runs=runs,
    )


def _untrained(one: dict[str, float]) -> dict[str, float]:
    """Return Recall@1 by trunk, as the paper measures it."""
    return {split_label(label)[0]: value for label, value in one.items() if split_label(label)[1] == WAY}


def _range(after: Sequence[float]) -> float:
    return after[0] - after[-1]


def _with_trunks(recall: dict[str, dict[str, float]]) -> list[str]:
    """Return the data sets that can be judged: the paper's, and those with rows of more than one trunk."""
    return [data for data, one in recall.items() if data == JUDGED or len(_untrained(one)) > 1]


def _apart(one: dict[str, float]) -> float:
    found = _untrained(one).values()
    return max(found) - min(found)


def _answer(data: str, one: dict[str, float], after: Sequence[float]) -> Answer:
    found, apart = _untrained(one), _apart(one)
    can_tell = len(found) > 1 and len(after) > 1
    gap = _range(after) if after else 0.0
    told = ", ".join(f"{TRUNKS[trunk]} {points(value)}" for trunk, value in found.items())
    return Answer(
        data=data,
        verdict=verdict_of(holds=can_tell and apart > gap, fails=can_tell and apart < gap),
        sentence=(
            f"Untrained Recall@1: {told}, {points(apart)} points apart; the best trained method and the worst one are "
            f"{points(gap)} apart."
        ),
    )


def _headline(recall: dict[str, dict[str, float]], after: dict[str, list[float]]) -> str:
    worse = [
        f"{sum(value < _whole(recall[data]) for value in some)} of {len(some)} on {SHORT[data]}"
        for data, some in after.items()
    ]
    return (
        "**Training a head is not always worth it.** The 1,280 raw features of EfficientNet-Lite0 have a higher "
        f"Recall@1 than trained heads of 128 dimensions: {listed(worse)}."
        if worse
        else ""
    )


def _short(recall: dict[str, dict[str, float]], after: dict[str, list[float]]) -> str:
    trunks = ", ".join(f"{TRUNKS[trunk]} {points(value)}" for trunk, value in _untrained(recall[JUDGED]).items())
    heads = ", ".join(
        f"{SHORT[data]} {points(recall[data][BEFORE])} to {points(some[0])}" for data, some in after.items()
    )
    return f"Untrained Recall@1 on {SHORT[JUDGED]}: {trunks}; what the best trained head makes of Lite0: {heads}."


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


def _whole(one: dict[str, float]) -> float:
    """Return Recall@1 of all features of the trunk of C1, nothing left out."""
    return next(value for label, value in one.items() if label.startswith("efficientnet_lite0, all "))


def _trained(recall: dict[str, dict[str, float]], after: dict[str, list[float]]) -> str:
    rows = []
    for data, some in after.items():
        whole, before = _whole(recall[data]), recall[data][BEFORE]
        below = [f"{sum(value < level for value in some)} of {len(some)}" for level in (whole, before)]
        rows.append([SHORT[data], points(whole), points(before), points(median(some)), points(some[0]), *below])
    header = ["data", "all features", "128 axes", "median method", "best method"]
    header += ["methods below all features", "methods below the axes"]
    note = (
        "Test Recall@1 of heads of 128 dimensions on EfficientNet-Lite0 features (C1). The axes are those of all "
        "training classes; the untrained row of C1 has the axes of the 80 % of them that its runs train on, and "
        "differs "
        "by up to 0.3 points."
    )
    return f"{table(header, rows)}\n\n{note}"


def _dots(data: str, one: dict[str, float], after: Sequence[float]) -> list[Dot]:
    rows = {f"{TRUNKS[trunk]}, untrained": value for trunk, value in _untrained(one).items()}
    rows |= {f"{name}, untrained (MLRC)": value for name, value in PUBLISHED.get(data, {}).items()}
    rows |= {
        "Lite0, 128 axes, untrained": one[BEFORE],
        "Lite0, all features, untrained": _whole(one),
        "Lite0, median head": median(after),
        "Lite0, best head": after[0],
    }
    ordered = sorted(rows.items(), key=lambda item: -item[1])
    return [(name, 100 * value, 100 * value, 100 * value, []) for name, value in ordered]
