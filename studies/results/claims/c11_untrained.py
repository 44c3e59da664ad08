"""C11: what a trunk's weights reach before any training, and whether they matter more than the loss."""

from collections.abc import Sequence

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
        fixed="when the rows of EfficientNet-Lite0 were known and that of ResNet-50 was not",
        counts=(
            "the trunk moves Recall@1 more than the loss does if two untrained trunks lie further apart on CUB (512 "
            "principal axes of the judged pictures) than the best and the median trained method of C1; it does not if "
            "they lie closer; with one trunk nothing can be told. The same is asked of the other sets, which was added "
            "when all rows were known."
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
                    "EfficientNet-Lite0 features; on CUB also untrained trunks on 512 principal axes of the judged "
                    "pictures, three of them as Musgrave et al. publish them (MLRC)."
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


def _median_gap(after: Sequence[float]) -> float:
    return after[0] - after[len(after) // 2]


def _with_trunks(recall: dict[str, dict[str, float]]) -> list[str]:
    """Return the data sets that can be judged: the paper's, and those with rows of more than one trunk."""
    return [data for data, one in recall.items() if data == JUDGED or len(_untrained(one)) > 1]


def _apart(one: dict[str, float]) -> float:
    found = _untrained(one).values()
    return max(found) - min(found)


def _answer(data: str, one: dict[str, float], after: Sequence[float]) -> Answer:
    found, apart = _untrained(one), _apart(one)
    can_tell = len(found) > 1 and len(after) > 1
    gap = _median_gap(after) if after else 0.0
    told = ", ".join(f"{TRUNKS[trunk]} {points(value)}" for trunk, value in found.items())
    return Answer(
        data=data,
        verdict=verdict_of(holds=can_tell and apart > gap, fails=can_tell and apart < gap),
        sentence=(
            f"Untrained Recall@1: {told}, {points(apart)} points apart; the best trained method and the median one are "
            f"{points(gap)} apart."
        ),
    )


def _headline(recall: dict[str, dict[str, float]], after: dict[str, list[float]]) -> str:
    said: dict[str, list[str]] = {"holds": [], "does not hold": []}
    for data in _with_trunks(recall):
        answer = _answer(data, recall[data], after.get(data, []))
        if answer.verdict in said:
            numbers = f"{points(_apart(recall[data]))} against {points(_median_gap(after[data]))} points"
            said[answer.verdict].append(f"{SHORT[data]} ({numbers})")
    parts = [(word, listed(said[verdict])) for word, verdict in (("more", "holds"), ("less", "does not hold"))]
    places = ", ".join(f"{word} on {names}" for word, names in parts if names)
    return (
        f"Untrained networks differ in Recall@1, compared with the best and the median loss, {places}."
        if places
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


def _trained(recall: dict[str, dict[str, float]], after: dict[str, list[float]]) -> str:
    rows = []
    for data, some in after.items():
        before = recall[data][BEFORE]
        worse = sum(value < before for value in some)
        rows.append(
            [SHORT[data], points(before), points(some[len(some) // 2]), points(some[0]), f"{worse} of {len(some)}"]
        )
    header = ["data", "untrained, 128 axes", "median method", "best method", "methods below the untrained row"]
    return f"{table(header, rows)}\n\nTest Recall@1 of heads of 128 dimensions on EfficientNet-Lite0 features (C1)."


def _dots(data: str, one: dict[str, float], after: Sequence[float]) -> list[Dot]:
    rows = {f"{TRUNKS[trunk]}, untrained": value for trunk, value in _untrained(one).items() if data == JUDGED}
    rows |= {f"{name}, untrained (MLRC)": value for name, value in PUBLISHED.get(data, {}).items()}
    rows |= {
        "Lite0, 128 axes, untrained": one[BEFORE],
        "Lite0, median head": after[len(after) // 2],
        "Lite0, best head": after[0],
    }
    ordered = sorted(rows.items(), key=lambda item: -item[1])
    return [(name, 100 * value, 100 * value, 100 * value, []) for name, value in ordered]
