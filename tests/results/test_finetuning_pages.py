"""C15 and C17: the order of losses on other data, and after fine-tuning; and what the first page says of both."""

import pytest
from studies.results.claims import c15_transfer, c17_finetuning
from studies.results.page import Page
from studies.results.records import ExportedRun

from tests.results.test_results import field

METHODS = ("Contrastive", "Triplet", "ProxyNCA", "N. Softmax", "MS", "SupCon", "Proxy-Anchor", "Margin (D)")
LEVELS = {method: 0.20 + 0.01 * place for place, method in enumerate(METHODS)}
BACKWARDS = {method: 0.30 - 0.01 * place for place, method in enumerate(METHODS)}
CLOSE = {method: 0.25 + 0.0001 * place for place, method in enumerate(METHODS)}


def tuned(levels: dict[str, float], *, frozen: float = 0.1, sd: float = 0.001) -> list[ExportedRun]:
    said = {"data": "cub200_photographs", "study": "c17_finetuning_cub200"}
    return [*field(levels, n_seeds=3, sd=sd, **said), *field({"Frozen": frozen}, n_seeds=3, sd=0.0, **said)]


def verdicts(page: Page | None) -> dict[str, str]:
    assert page is not None
    return {answer.data: answer.verdict for answer in page.answers}


@pytest.mark.parametrize(
    ("levels", "frozen", "sd", "expected"),
    [
        (LEVELS, 0.1, 0.001, ["holds", "does not hold", "holds"]),
        (BACKWARDS, 0.5, 0.001, ["does not hold", "does not hold", "does not hold"]),
        (CLOSE, 0.25035, 0.00001, ["holds", "holds", "cannot tell"]),
    ],
)
def test_fine_tuning_is_judged_in_three_parts(
    levels: dict[str, float], frozen: float, sd: float, expected: list[str]
) -> None:
    found = verdicts(c17_finetuning.page(tuned(levels, frozen=frozen, sd=sd), field(LEVELS)))
    parts = ("heads foretell the order", "losses are saturated", "fine-tuning helps")
    assert found == {f"CUB photographs: {part}": verdict for part, verdict in zip(parts, expected, strict=True)}


def test_the_papers_losses_stand_next_to_ours() -> None:
    page = c17_finetuning.page(tuned(LEVELS), field(LEVELS))
    assert page is not None
    text = next(section.text for section in page.sections if section.heading == "Next to Musgrave et al.")
    rows = {line.split(" | ")[0].strip("| "): line for line in text.splitlines()}
    # Musgrave et al., table 4: contrastive 21.18, triplet 18.75 MAP@R with 128 dimensions.
    assert rows["Contrastive"].startswith("| Contrastive | 21.18 | ")
    assert rows["Triplet"].startswith("| Triplet | 18.75 | ")
    assert "SupCon" not in rows
    assert "Margin (D)" not in rows
    assert "best - worst" in rows


def test_orders_are_compared_between_sets_and_between_heads_and_fine_tuning() -> None:
    heads = [*field(LEVELS), *field(BACKWARDS, data="cars196"), *field({"A": 0.1}, data="pets")]
    page = c15_transfer.page(heads, tuned(LEVELS))
    assert verdicts(page) == {"CUB and Cars": "does not hold", "CUB, heads and fine-tuning": "holds"}
    assert page is not None
    assert "between heads on frozen features and fine-tuning of the same pictures: CUB +1.00" in page.short
    assert "EfficientNet-Lite0 fine-tuned at 96 pixels" in page.limits[-1]
    alone = c15_transfer.page(heads)
    assert alone is not None
    assert alone.short == "Rank correlation of methods between CUB and Cars: -1.00."
    assert c15_transfer.page(field(LEVELS)) is None


def test_an_order_is_compared_with_itself_by_halves_of_the_seeds() -> None:
    page = c15_transfer.page([*field(LEVELS), *field(BACKWARDS, data="cars196")])
    assert page is not None
    rows = page.sections[0].text.splitlines()
    assert rows[2] == "| CUB-200-2011, head on frozen features | 8 | 5 | +1.00 |"
