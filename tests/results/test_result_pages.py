"""Verdicts of the pages on samplers, factors, folds, mixup, trunks, searches and fine-tuning follow their rules."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from studies.distilled import DistilledFromAxesHead
from studies.results.claims import (
    c04_samplers,
    c05_factors,
    c08_concatenation,
    c10_mixup,
    c11_untrained,
    c15_transfer,
    c16_search,
    c17_finetuning,
    c18_epochs,
    c20_splits,
    c21_variance,
    c23_since2020,
    c24_looking,
    c25_sets,
    c26_foretelling,
)
from studies.results.page import Page
from studies.results.records import JOINED, ExportedRun
from studies.results.variance import components, shares

from fairground.heads import PcaHead
from tests.results.test_results import exported, field

LOSSES = {"A": 0.50, "B": 0.55, "C": 0.60, "D": 0.65}
#: half a point matters
MATTERS = {"cub200": 0.005}


def verdicts(page: Page | None) -> dict[str, str]:
    assert page is not None
    assert page.markdown().count("## Verdict") == 1
    return {answer.data: answer.verdict for answer in page.answers}


def variants(shifts: dict[str, float]) -> list[ExportedRun]:
    """Every loss in every variant, which shifts it by so much, and by a little more or less from loss to loss."""
    levels = {
        f"{loss}, {variant}": level + shift + (0.0 if variant in ("base", "SPC-4") else 0.0005 * (-1) ** place)
        for place, (loss, level) in enumerate(LOSSES.items())
        for variant, shift in shifts.items()
    }
    return field(levels, sd=0.00001, n_seeds=2)


def test_a_sampler_is_judged_by_what_it_gains_over_spc_4() -> None:
    shifts = {"SPC-2": 0.02, "SPC-4": 0.0, "SPC-8": -0.01, "SPC-R": 0.0, "GC": 0.01, "DDM": 0.0, "FRD": -0.02}
    page = c04_samplers.page(variants(shifts), MATTERS)
    assert verdicts(page) == {"SPC-2 beats SPC-4": "holds", "FRD beats SPC-4": "the opposite holds"}


@pytest.mark.parametrize(
    ("shift", "expected"), [(0.02, "holds"), (-0.02, "the opposite holds"), (0.0, "no difference")]
)
def test_factors_are_judged_from_the_base(shift: float, expected: str) -> None:
    changed = {"batch 256": shift, "decay 0.01": shift, "512 dimensions": shift, c05_factors.PLAIN: -shift}
    found = verdicts(c05_factors.page(variants(dict.fromkeys(c05_factors.VARIANTS, 0.0) | changed), MATTERS))
    rising = ("batches of 256 beat 32", "512 dimensions beat 128", "augmentation beats plain images")
    assert {found[f"CUB: {part}"] for part in (*rising, "weight decay 0.01 beats none")} == {expected}
    assert found["CUB: weight decay 0.001 beats none"] == "no difference"


def test_joined_models_are_set_against_single_ones_of_both_widths() -> None:
    runs = []
    for loss, level in LOSSES.items():
        for width, gain in ((128, 0.0), (512, 0.02)):
            folds = [
                exported(f"{loss}, {width}", 1, level + gain + 0.001 * fold, run=f"{loss}{fold}") for fold in range(4)
            ]
            joined = exported(f"{loss}, {width}", 1, level + gain + 0.02, kind=JOINED, best_epoch=1)
            runs += [*folds, joined]
    found = verdicts(c08_concatenation.page(runs, MATTERS))
    assert found == {
        "against one model of 128 dimensions": "holds",
        "against one model of 512 dimensions": "no difference",
    }


@pytest.mark.parametrize(
    ("rho", "recall", "expected"),
    [
        (0.1, -0.02, ["holds", "holds"]),
        (-0.1, -0.02, ["the opposite holds", "holds"]),
        (0.1, 0.02, ["holds", "the opposite holds"]),
    ],
)
def test_mixup_compresses_and_costs_each_by_itself(rho: float, recall: float, expected: list[str]) -> None:
    runs = []
    for place, (loss, level) in enumerate(LOSSES.items()):
        for seed in (1, 2):
            plain = {"train": {"rho": 0.3 + 0.001 * place, "effective_rank": 9.0}}
            mixed = {"train": {"rho": 0.3 + 0.002 * place + rho, "effective_rank": 8.0}}
            runs.append(exported(loss, seed, level, **plain))
            runs.append(exported(f"{loss}, mixup", seed, level + recall + 0.0001 * place, **mixed))
    assert list(verdicts(c10_mixup.page(runs, MATTERS)).values()) == expected


def untrained_rows(trunk: str, level: float) -> list[ExportedRun]:
    ways = ["all 1280", *c11_untrained.WAYS]
    return [exported(f"{trunk}, {way}", 0, level) for way in ways]


def test_trunks_are_set_against_losses_where_there_are_two() -> None:
    trained, one = field(LOSSES), untrained_rows("efficientnet_lite0", 0.5)
    assert verdicts(c11_untrained.page(one, trained)) == {"cub200": "cannot tell"}
    far, near = untrained_rows("resnet50", 0.3), untrained_rows("resnet50", 0.49)  # losses are 0.15 apart
    assert verdicts(c11_untrained.page([*one, *far], trained)) == {"cub200": "holds"}
    assert verdicts(c11_untrained.page([*one, *near], trained)) == {"cub200": "does not hold"}


@pytest.mark.parametrize(("gain", "verdict"), [(0.001, "holds"), (0.02, "does not hold")])
def test_a_search_is_long_enough_where_a_longer_one_gains_little(gain: float, verdict: str) -> None:
    longer = field({loss: level + gain for loss, level in LOSSES.items()}, sd=0.0001)
    found = c16_search.page(longer, field(LOSSES, sd=0.0001))  # the best gains 0.1 over epoch 0: 0.01 matters
    assert verdicts(found) == {"cub200": verdict}


def longer(before: dict[str, float], after: dict[str, float]) -> list[ExportedRun]:
    """Runs of 32 epochs that reach one score by the 8th and another by the last, with a peak on test in between."""
    runs = []
    for name, level in before.items():
        for seed in range(3):
            test = {0: 0.1, 8: level + 0.0001 * seed, 12: 0.99, 16: 0.3, 32: after[name] + 0.0001 * seed}
            validation = {0: 0.9, 8: 0.5, 12: 0.4, 16: 0.4, 32: 0.6}
            curves = {("test", "map@r"): test, ("validation", "map@r"): validation}
            runs.append(exported(name, seed, level, epochs=curves, study="c18_epochs_cub200"))
    return runs


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({"A": 0.60, "B": 0.65, "C": 0.70, "D": 0.75, "E": 0.80}, ["holds", "does not hold"]),
        ({"A": 0.804, "B": 0.803, "C": 0.802, "D": 0.801, "E": 0.80}, ["does not hold", "holds"]),
    ],
)
def test_longer_training_is_judged_by_its_order_and_by_how_far_methods_are_apart(
    after: dict[str, float], expected: list[str]
) -> None:
    before = {"A": 0.50, "B": 0.51, "C": 0.52, "D": 0.53, "E": 0.54}
    page = c18_epochs.page(longer(before, after), field(LOSSES))
    parts = ("8 epochs with early stopping give the order of 32", "losses are saturated after 32")
    assert verdicts(page) == {f"CUB: {part}": verdict for part, verdict in zip(parts, expected, strict=True)}
    assert page is not None
    # Validation selects a trained epoch within each budget: what test classes reach in between is not a score.
    assert "99" not in page.sections[2].text


METHODS = ("Contrastive", "Triplet", "ProxyNCA", "N. Softmax", "MS", "SupCon", "Proxy-Anchor", "Margin (D)")
LEVELS = {method: 0.20 + 0.01 * place for place, method in enumerate(METHODS)}
BACKWARDS = {method: 0.30 - 0.01 * place for place, method in enumerate(METHODS)}
CLOSE = {method: 0.25 + 0.0001 * place for place, method in enumerate(METHODS)}


def tuned(levels: dict[str, float], *, frozen: float = 0.1, sd: float = 0.001) -> list[ExportedRun]:
    said = {"data": "cub200_photographs", "study": "c17_finetuning_cub200"}
    return [*field(levels, n_seeds=3, sd=sd, **said), *field({"Frozen": frozen}, n_seeds=3, sd=0.0, **said)]


@pytest.mark.parametrize(
    ("levels", "frozen", "sd", "expected"),
    [
        (LEVELS, 0.1, 0.001, ["holds", "does not hold", "holds"]),
        (BACKWARDS, 0.5, 0.001, ["does not hold", "does not hold", "the opposite holds"]),
        (CLOSE, 0.2, 0.00001, ["holds", "holds", "holds"]),
    ],
)
def test_fine_tuning_is_judged_in_three_parts(
    levels: dict[str, float], frozen: float, sd: float, expected: list[str]
) -> None:
    found = verdicts(c17_finetuning.page(tuned(levels, frozen=frozen, sd=sd), field(LEVELS)))
    parts = ("heads foretell the order", "losses are saturated", "fine-tuning helps")
    assert found == {f"CUB photographs: {part}": verdict for part, verdict in zip(parts, expected, strict=True)}


def test_orders_are_compared_between_all_sets_but_pets() -> None:
    same, other = [*field(LEVELS), *field(LEVELS, data="cars196")], [*field(LEVELS), *field(BACKWARDS, data="cars196")]
    assert verdicts(c15_transfer.page([*same, *field(BACKWARDS, data="pets")])) == {"mean over pairs": "holds"}
    assert verdicts(c15_transfer.page(other)) == {"mean over pairs": "does not hold"}


@pytest.mark.parametrize(("start", "expected"), [(0.10, "does not hold"), (0.2013, "holds")])
def test_a_standard_split_far_from_random_ones_is_an_outlier(start: float, expected: str) -> None:
    runs = []
    for number in range(6):
        level, split = (start, "standard") if number == 0 else (0.2 + 0.001 * number, f"random {number}")
        levels = {"Frozen": level} | {f"{name}, default": level + 0.01 * place for place, name in enumerate("ABCDE", 1)}
        runs += field(levels, n_seeds=2, sd=0.0, data=split, study="c20_splits_cub200")
    found = verdicts(c20_splits.page(runs))
    parts = [found[f"CUB: the {look} is that of a random split"] for look in ("level", "gain", "order")]
    assert parts == [expected, "holds", "holds"]


def drawn(deviations: tuple[float, ...], *, n_sets: int = 1, n_losses: int = 400) -> list[np.ndarray]:
    """Scores (losses, splits, searches, seeds) whose components are known, and what all losses of a table share."""
    noise = np.random.default_rng(0)
    loss, own, split, search, seed = deviations
    common = noise.normal(0, loss, (n_losses, 1, 1, 1))
    found = []
    for _ in range(n_sets):
        shapes = {(n_losses, 1, 1, 1): own, (n_losses, 3, 1, 1): split, (n_losses, 3, 3, 1): search}
        shapes |= {(n_losses, 3, 3, 2): seed, (1, 3, 3, 2): 5.0}
        found.append(common + sum(noise.normal(0, sd, shape) for shape, sd in shapes.items()))
    return found


def test_components_of_variance_are_found_again() -> None:
    several, single = drawn((2.0, 1.5, 1.0, 3.0, 0.5), n_sets=12), drawn((2.0, 0.0, 1.0, 3.0, 0.5))
    assert np.sqrt(components(several)) == pytest.approx([2.0, 1.5, 1.0, 3.0, 0.5], rel=0.1)
    assert np.sqrt(components(single)) == pytest.approx([2.0, 0.0, 1.0, 3.0, 0.5], rel=0.1)
    # Searches that try the same settings on every split and set are a search still, not the loss.
    shared = np.random.default_rng(1).normal(0, 3.0, (400, 1, 3, 1))
    assert np.sqrt(components([one + shared for one in several]))[0] == pytest.approx(2.0, rel=0.1)
    # By hand: two losses 1 apart in every column have a variance of 1/2, all of it theirs.
    apart = np.array([0.0, 1.0]).reshape(2, 1, 1, 1) + np.zeros((2, 2, 2, 2))
    assert components([apart]).tolist() == components([apart[:, :1]]).tolist() == [0.5, 0, 0, 0, 0]
    # Of several sets with one split each, what losses have on a split is what they have on its set.
    once = [one[:, :1, :1] for one in drawn((2.0, 1.5, 0.0, 0.0, 0.5), n_sets=12)]
    assert np.sqrt(components(once)) == pytest.approx([2.0, 1.5, 0.0, 0.0, 0.5], rel=0.1)
    found = shares(drawn((2.0, 0.0, 1.0, 3.0, 0.5), n_losses=60))["loss"]
    assert found.low < 4 / 14.25 < found.high


@pytest.mark.parametrize(("search", "expected"), [(0.0001, "holds"), (1.0, "does not hold")])
def test_a_table_is_about_its_losses_where_searches_do_not_move_them(search: float, expected: str) -> None:
    runs = []
    for split in (1, 2, 3, 4):
        study, noise = f"c21_variance_esc50_{split}", np.random.default_rng(split)
        for place in range(12):
            levels = {f"L{place}, search {q}": 0.2 + 0.005 * place + search * noise.normal() for q in (1, 2, 3)}
            runs += field(levels, n_seeds=2, sd=0.0001, study=study)
        runs.append(exported("Frozen", 0, 0.1, study=study))
    assert list(verdicts(c21_variance.page(runs, [])).values()) == [expected]
    assert c21_variance.page(runs[:37], []) is None


def test_newer_losses_are_set_against_three_references() -> None:
    runs = []
    levels = dict.fromkeys(c23_since2020.OLDER, 0.25) | {"MS": 0.30, "New": 0.35, "Newer": 0.30, "Newest": 0.15}
    for number, split in enumerate(("standard", "1", "2")):
        study = f"c23_since2020_cub200_{split}"
        shifted = {name: level + 0.02 * number + 0.0005 * (-1) ** number for name, level in levels.items()}
        runs += field(shifted, n_seeds=1, sd=0.0005, study=study)
        runs += field({"Frozen": 0.2 + 0.02 * number}, n_seeds=1, sd=0.0, study=study)
        runs += [
            exported(name, 0, level, kind="trial", study=study, scores={("validation", "map@r"): level})
            for name, level in levels.items()
        ]
    page = c23_since2020.page(runs)
    assert page is not None
    assert page.short == (
        "Of 3 losses since 2020, 2 keep a gain over the untrained network, 2 over Contrastive (2006), 1 over MS."
    )
    assert "1 of 3 keep it, 0 cannot be told, 1 make no difference and 1 are worse" in page.answers[2].sentence
    assert c23_since2020.page([run for run in runs if run.study.endswith("standard")]) is None


def test_self_distillation_of_c23_starts_where_the_other_heads_start() -> None:
    features = torch.randn(40, 6, generator=torch.Generator().manual_seed(3))
    own = DistilledFromAxesHead(n_features=6, embedding_dim=2, branches=[4]).eval()
    other = PcaHead(n_features=6, embedding_dim=2, standardise=False).eval()
    for head in (own, other):
        head.fit([features])
    torch.testing.assert_close(own(features), other(features))


@pytest.mark.parametrize(("rise", "end", "expected"), [(0.06, 0.2, "holds"), (0.0, 0.45, "does not hold")])
def test_the_price_of_looking_is_what_the_best_epoch_has_over_the_selected_one(
    rise: float, end: float, expected: str
) -> None:
    runs = []
    for number in range(c24_looking.N_LOSSES):
        level = 0.5 + 0.001 * number
        test = dict.fromkeys(range(129), level) | {0: 0.4, 64: level + 0.0001 * number, 100: level + rise, 128: end}
        validation = {0: 0.9, **{epoch: 0.5 - 0.001 * epoch for epoch in range(1, 129)}}
        curves = {("test", metric): test for metric in ("recall@1", "map@r")}
        curves |= {("validation", metric): validation for metric in ("recall@1", "map@r")}
        runs.append(exported(f"L{number}", 0, level, study="c24_looking_esc50", data="features", epochs=curves))
    found = c24_looking.page(runs)
    assert list(verdicts(found).values()) == [expected, "holds", expected]
    assert found is not None
    assert "Not all losses are finished, left out: CUB and Flowers." in found.limits
    assert f"{25 if end < 0.4 else 0} of 25 after 128 epochs" in found.answers[2].sentence
    assert c24_looking.page(runs[1:]) is None


def test_orders_at_defaults_are_compared_between_sets_that_are_finished() -> None:
    def runs_of(study: str, data: str, sign: int, suffix: str = "") -> list[ExportedRun]:
        levels = {f"L{place:02}{suffix}": 0.2 + sign * 0.002 * place for place in range(c25_sets.N_LOSSES)}
        said = {"study": study, "data": data}
        return [*field(levels, n_seeds=2, sd=0.0001, **said), exported("Frozen", 0, 0.1, **said)]

    cub = runs_of("c20_splits_cub200", "standard", 1, ", default")
    other_split = runs_of("c20_splits_cub200", "random 1", -1, ", default")
    same = [run for name in ("esc50", "gtsrb") for run in runs_of(f"c25_sets_{name}", "features", 1)]
    backwards = [run for name in ("esc50", "gtsrb") for run in runs_of(f"c25_sets_{name}", "features", -1)]
    unfinished = runs_of("c25_sets_clinc150", "features", -1)[5:]
    page = c25_sets.page([*same, *unfinished], [*cub, *other_split])
    assert verdicts(page) == {"mean over pairs": "holds"}
    assert page is not None
    left_out = "Flowers, CLINC150, Cars, fruits, Omniglot, groceries and AudioMNIST"
    assert f"Not finished, left out: {left_out}." in page.limits
    assert page.headline.startswith(
        "**L24 gets 100 % or more of what the best loss gains on each of 3 data sets, all at"
    )
    assert "Whole orders of losses carry over: they correlate +1.00 [+1.00, +1.00] on average" in page.headline
    assert "other losses the interval is [+1.00, +1.00] (jackknife" in page.answers[0].sentence
    assert "| *all others* | L24 0 % | L24 0 % | L24 0 % |" in page.markdown()
    assert verdicts(c25_sets.page(backwards, cub)) == {"mean over pairs": "does not hold"}
    assert c25_sets.page([], cub) is None
    # C21 asks of the same runs how much of a table is the loss that all sets share.
    shared = c21_variance.page([], cub, default=same)
    assert verdicts(shared) == {"3 data sets (25 losses, default): a table is mostly its losses": "holds"}


def test_the_ceiling_and_the_interval_over_sets_of_c25_are_what_one_computes_by_hand() -> None:
    a, b, c = ({f"L{place}": value for place, value in enumerate(row)} for row in ((1, 2, 3), (1, 2, 3), (3, 1, 2)))
    found = c25_sets.over_sets({"a": a, "b": b, "c": c})
    # Correlations 1, -1/2, -1/2; without one set each is the mean of itself alone, and two of three are equal.
    assert found.value == pytest.approx(0.0)
    assert found.high == pytest.approx(4.3027 * 2 / 3**0.5 * (0.75 / 1) ** 0.5, rel=1e-3)
    one = c25_sets.DefaultsOnSet(scores={"x": {0: 1, 1: 1}, "y": {0: 2, 1: 3}, "z": {0: 3, 1: 2}}, start=0.0)
    assert one.repeated == pytest.approx(0.5)
    assert one.reliability == pytest.approx(2 / 3)


@pytest.mark.parametrize(("sign", "expected"), [(1, ["holds"] * 3), (-1, ["does not hold"] * 3)])
def test_heads_foretell_fine_tuning_where_both_order_losses_alike(sign: int, expected: list[str]) -> None:
    runs = []
    for study in c26_foretelling.STUDIES:
        said = {"study": study, "data": "photographs"}
        runs.append(exported("Frozen", 0, 0.1, **said))
        for kind, direction in ((c26_foretelling.HEAD, 1), (c26_foretelling.TUNED, sign)):
            losses = ["MS", "Contrastive", "Triplet", *(f"L{place:02}" for place in range(17))]
            levels = {f"{loss}, {kind}": 0.3 + direction * 0.005 * place for place, loss in enumerate(losses)}
            some = field(levels, n_seeds=3, sd=0.0001, settings={"optimiser.lr": 1e-4}, **said)
            for run in some:
                seen = {**run.scores, ("validation", "map@r"): run.scores["test", "map@r"]}
                runs += [replace(run, scores=seen), replace(run, kind="trial")]
    found = c26_foretelling.page(runs)
    assert list(verdicts(found).values()) == expected
    assert found is not None
    assert "Heads choose L16" in found.answers[1].sentence
    assert c26_foretelling.page(runs[1:]) is None
