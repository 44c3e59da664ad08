"""What every loss owes, tested once over whatever is in the room."""

import io

import pytest
import torch

from fairground.contracts.loss import Triplets
from fairground.errors import InputError
from fairground.spec import Choice, find
from tests.contracts.losses import DIMENSION, N_CLASSES, NAMES, batch, build, built_variants, value_and_gradient

each_loss = pytest.mark.parametrize("name", NAMES)
#: losses without class weights: only the equality of labels counts
ON_PAIRS = [n for n in NAMES if not any(len(weight) == N_CLASSES for weight in build(n).parameters() if weight.ndim)]
#: these hold some weights constant in their gradient by definition, so their slope is not that of their value; their
#: own tests check it with those weights frozen. The queue of the memory, and running norms, change from call to call.
SLOPE_OF_ITS_OWN = ("adaface", "adasp", "circle", "ranked_list", "cross_batch_memory")
#: a signal-to-noise ratio is the variance over the axes, so it depends on where they point
SEES_AXES = ("snr",)
#: variances along the axes, or embeddings of several branches side by side: a turn of all space mixes them
IS_TURNED_APART = ("hist", "self_distillation")
#: samples in the same position of their classes are compared, so that their order in the batch decides
SEES_ORDER = ("pairwise_cross_entropy",)
#: the length of an embedding is part of this loss by definition
SEES_LENGTHS = ("adaface", "magface", "sphere_face")
#: positive and negative pairs are priced apart: where one kind is missing, the other is still there to learn from
PRICES_PAIRS_APART = (*("contrastive", "snr", "multi_similarity", "ranked_list", "cross_batch_memory"), "sigmoid_pairs")


def rotation(*, keeping_the_mean):
    """Return a random rotation (d, d), of all space or only around the direction (1, ..., 1)."""
    columns = torch.randn(DIMENSION, DIMENSION, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    turn, _ = torch.linalg.qr(columns)
    if keeping_the_mean:
        columns[:, 0] = 1
        basis, _ = torch.linalg.qr(columns)
        within, _ = torch.linalg.qr(turn[1:, 1:])
        turn = basis @ torch.block_diag(torch.ones(1, 1, dtype=torch.float64), within) @ basis.T
    return turn


@each_loss
def test_both_ends_of_every_range_can_be_set(name):
    for setting, range_ in find("losses", name).tunable.items():
        for end in range_.options if isinstance(range_, Choice) else (range_.low, range_.high):
            build(name, **{setting: end})


@each_loss
def test_order_turns_and_lengths_change_nothing_under_any_setting(name):
    embeddings, labels = batch(14, seed=3)
    order = torch.randperm(14, generator=torch.Generator().manual_seed(5))
    turn = rotation(keeping_the_mean=name in SEES_AXES)
    for chosen, loss in built_variants(name, mined=False):
        state = {key: tensor.clone() for key, tensor in loss.state_dict().items()}
        value, gradient = value_and_gradient(loss, embeddings, labels)
        close = {"rtol": 1e-6, "atol": 1e-8 * float(gradient.abs().max()) + 1e-12}
        loss.load_state_dict(state)
        if not loss.is_random and name not in SEES_ORDER and chosen.get("positives") != "one_per_class":
            shuffled, its_gradient = value_and_gradient(loss, embeddings[order], labels[order])
            assert float(shuffled) == pytest.approx(float(value), rel=1e-9, abs=1e-12), chosen
            assert torch.allclose(its_gradient, gradient[order], **close), chosen
        if {name, chosen.get("loss")}.isdisjoint(SEES_LENGTHS) and not chosen.get("norm_weight"):
            loss.load_state_dict(state)
            longer = value_and_gradient(loss, 7.5 * embeddings, labels)[0]
            assert (float(longer) == pytest.approx(float(value), rel=1e-9)) == loss.on_sphere, chosen
        if name in IS_TURNED_APART or (chosen.get("roth_code") and name == "soft_triple") or "dimensions" in chosen:
            continue  # The released code confuses two axes of the centres; a prefix depends on the axes.
        turned = {key: tensor @ turn if tensor.shape[-1:] == (DIMENSION,) else tensor for key, tensor in state.items()}
        loss.load_state_dict(turned)
        turned, its_gradient = value_and_gradient(loss, embeddings @ turn, labels)
        assert float(turned) == pytest.approx(float(value), rel=1e-8), chosen
        assert torch.allclose(its_gradient, gradient @ turn, **close), chosen


def test_shifting_all_logits_changes_nothing():
    """One number more for all logits of a sample: by a coordinate all share, by all biases, by moving the batch."""
    embeddings, labels = batch(seed=13)
    shared = torch.cat([embeddings, torch.full((12, 1), 3.0, dtype=torch.float64)], 1)
    before, after = (value_and_gradient(build("n_pair"), x, labels) for x in (embeddings, shared))
    assert float(after[0]) == pytest.approx(float(before[0]), rel=1e-9)
    assert torch.allclose(after[1][:, :-1], before[1], atol=1e-12)

    plain, biased = build("centre"), build("centre")
    with torch.no_grad():
        biased.biases.add_(5.0)
    before, after = (value_and_gradient(loss, embeddings, labels) for loss in (plain, biased))
    assert float(after[0]) == pytest.approx(float(before[0]), rel=1e-9)
    assert torch.allclose(after[1], before[1], atol=1e-12)

    moved = embeddings + torch.linspace(-4, 4, DIMENSION, dtype=torch.float64)
    before, after = (value_and_gradient(build("generalised_lifted_structure"), x, labels) for x in (embeddings, moved))
    assert float(after[0]) == pytest.approx(float(before[0]), rel=1e-9)
    assert torch.allclose(after[1], before[1], atol=1e-9)


@pytest.mark.parametrize("name", ON_PAIRS)
def test_any_integers_will_do_for_labels(name):
    embeddings, labels = batch(seed=6)
    names = torch.tensor([-7, 10**12, 3, 0, 99, -(2**40)])
    value, _ = value_and_gradient(build(name), embeddings, labels)
    assert float(value_and_gradient(build(name), embeddings, names[labels])[0]) == pytest.approx(float(value), rel=1e-9)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ON_PAIRS])
def test_a_label_without_class_weights_is_refused(name):
    embeddings, labels = batch(seed=6)
    for bad in (N_CLASSES, -1):
        with pytest.raises(InputError, match=f"{name} knows the labels 0 to {N_CLASSES - 1}"):
            build(name)(embeddings, torch.where(labels == 0, bad, labels))


@each_loss
def test_with_nothing_to_learn_from_the_loss_is_zero_with_a_gradient_to_take(name):
    for chosen, loss in built_variants(name, mined=False):
        for labels in ([], [3], [0, 1], [5, 5], [0, 1, 2, 3], [5, 5, 5, 5]):
            value, gradient = value_and_gradient(loss, batch(len(labels), seed=14)[0], torch.tensor(labels).long())
            assert torch.isfinite(value), (chosen, labels)
            assert torch.isfinite(gradient).all(), (chosen, labels)
            has_more = {"norm_weight", "branches", "levels"} & set(chosen)
            if name in ON_PAIRS and (len(labels) < 2 or name not in PRICES_PAIRS_APART) and not has_more:
                assert value == 0, (chosen, labels)
                assert not gradient.any(), (chosen, labels)


@pytest.mark.parametrize("name", PRICES_PAIRS_APART)
@pytest.mark.parametrize("labels", [list(range(6)), [5] * 6], ids=str)
def test_pairs_priced_apart_are_worth_learning_from_alone(name, labels):
    embeddings, _ = batch(6, seed=14)
    value, gradient = value_and_gradient(build(name), embeddings, torch.tensor(labels))
    assert value > 0
    assert gradient.any()


@each_loss
def test_copies_opposites_and_nothing_at_all_have_finite_gradients_in_every_precision(name):
    embeddings, labels = batch(8, n_classes=3)
    ones, zeros = torch.ones_like(embeddings), torch.zeros_like(embeddings)
    mixed = (embeddings[labels], torch.cat([embeddings[:4], -embeddings[:4]]), embeddings * labels.unsqueeze(1))
    crowds = (ones, zeros, *mixed)
    for number, (chosen, loss) in enumerate(built_variants(name, torch.float32, mined=False)):
        for crowd in crowds:
            # Under every setting the widest and the narrowest range of numbers; under the defaults all four.
            for dtype in (torch.float32, torch.float16, torch.float64, torch.bfloat16)[: 2 if number else 4]:
                value, gradient = value_and_gradient(loss, crowd.to(dtype), labels)
                assert torch.isfinite(value), chosen
                assert torch.isfinite(gradient).all(), chosen
                assert gradient.dtype == dtype


@each_loss
def test_a_batch_that_has_diverged_gives_a_loss_that_says_so(name):
    for bad in (torch.inf, -torch.inf, torch.nan):
        embeddings, labels = batch(8, n_classes=3)
        embeddings[3, 1] = bad
        assert not torch.isfinite(build(name)(embeddings, labels))


@each_loss
def test_single_precision_agrees_with_double_and_inputs_are_left_as_they_were(name):
    embeddings, labels = batch(seed=9)
    exact, slope = value_and_gradient(build(name), embeddings, labels)
    assert all(torch.equal(*pair) for pair in zip((embeddings, labels), batch(seed=9), strict=True))
    value, gradient = value_and_gradient(build(name, torch.float32), embeddings.float(), labels)
    assert value.dtype == torch.float32
    assert float(value) == pytest.approx(float(exact), rel=2e-4, abs=1e-5)
    assert torch.allclose(gradient.double(), slope, rtol=2e-2, atol=2e-3 * float(slope.abs().max()) + 1e-6)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in SLOPE_OF_ITS_OWN])
def test_gradients_agree_with_finite_differences(name):
    embeddings, labels = batch(9, seed=12, n_classes=3)
    loss = build(name)

    def value(points):
        return loss(points, labels, generator=torch.Generator().manual_seed(1))

    assert torch.autograd.gradcheck(value, (embeddings.requires_grad_(),), eps=1e-6, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", [n for n in NAMES if next(build(n).parameters(), None) is not None])
def test_gradients_of_what_a_loss_learns_agree_with_finite_differences(name):
    embeddings, labels = batch(9, seed=12)
    # One difference for every weight: the usual 512 hidden features would take half a minute.
    loss = build(name, **({"hidden": 7} if name == "hist" else {})).eval()
    names, weights = zip(*loss.named_parameters(), strict=True)

    def value(*given_weights):
        given = dict(zip(names, given_weights, strict=True))
        seeded = {"generator": torch.Generator().manual_seed(1)}
        return torch.func.functional_call(loss, given, (embeddings, labels), seeded)

    weights = tuple(weight.detach().clone().requires_grad_() for weight in weights)
    assert torch.autograd.gradcheck(value, weights, eps=1e-6, atol=1e-5, rtol=1e-4)


@each_loss
def test_state_survives_a_save(name):
    loss, other = build(name, torch.float32), build(name, torch.float32)
    with torch.no_grad():
        for weight in loss.parameters():
            weight.add_(0.25)
    embeddings, labels = batch(dtype=torch.float32)
    loss(embeddings, labels)
    file = io.BytesIO()
    torch.save(loss.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    generators = (torch.Generator().manual_seed(3), torch.Generator().manual_seed(3))
    one, two = (each(embeddings, labels, generator=g) for each, g in zip((loss, other), generators, strict=True))
    assert torch.equal(one, two)


@each_loss
def test_shapes_that_do_not_fit_are_refused(name):
    embeddings, labels = batch()
    for bad, names in ((embeddings[0], labels), (embeddings, labels[:-1]), (embeddings, labels.double())):
        with pytest.raises(InputError, match="takes"):
            build(name)(bad, names)
    if not build(name).accepts:
        with pytest.raises(InputError, match="takes no tuples from a miner; got Triplets"):
            build(name)(embeddings, labels, Triplets(*[labels] * 3))
