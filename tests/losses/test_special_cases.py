"""What is true of a few losses only: equalities, switched triplets, draws, weights held constant, extreme settings."""

from math import exp, log

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, normalize, one_hot

from fairground.contracts.loss import Pairs, Triplets
from fairground.errors import InputError
from fairground.losses import quadruplet
from tests.losses import oracles
from tests.losses.fixtures import CENTRES, F8, F8B, PROXIES, T8B, X, build, gradient_of, on_fixture

D, S, DOT = oracles.D, oracles.S, oracles.DOT
NO_MARGIN = {"roth_icml_no_margin": True}


@pytest.mark.parametrize(
    ("one", "other", "embeddings"),
    [
        (("adaface", {"concentration": 0}), ("cos_face", {"margin": 0.4}), X),
        (("elasticface", {"deviation": 0}), ("arc_face", {"fallback": False}), X),
        (("elasticface", {"deviation": 0, "form": "cos", "sorted_margins": True}), ("cos_face", {"margin": 0.5}), X),
        (("arc_face", {"margin": 0, "scale": 16}), ("normalised_softmax", {"temperature": 1 / 16}), X),
        (("arc_face", {"margin": 0.5, **NO_MARGIN}), ("arc_face", {"margin": 0, **NO_MARGIN}), X),
        (("cos_face", {"margin": 0, "scale": 30}), ("normalised_softmax", {"temperature": 1 / 30}), X),
        (("nt_xent", {"temperature": 0.1}), ("sup_con", {"temperature": 0.1}), X),
        (("proxy_nca", {"scale": 9}), ("normalised_softmax", {"temperature": 1 / 18}), X),
        (("proxy_nca_pp", {}), ("proxy_nca", {"scale": 9}), X),
        # Unit vectors whose coordinates sum to 0 need no centring, and all have the same variance.
        (("snr", {"form": "triplet"}), ("triplet", {"margin": 0.2, "power": 2}), X - X.mean(1, keepdim=True)),
        (("soft_triple", {"n_centres": 1, "scale": 9, "margin": 0}), ("normalised_softmax", {"temperature": 1 / 9}), X),
        (("sphere_face", {"margin": 1, "scale": 5}), ("normalised_softmax", {"temperature": 1 / 5}), normalize(X)),
        (("sub_centre_arc_face", {"n_centres": 1}), ("arc_face", {}), X),
        (("tuplet_margin", {"margin": 0.0, "scale": 8.0}), ("nt_xent", {"temperature": 1 / 8}), X),
    ],
)
def test_two_losses_are_equal(one, other, embeddings):
    (value, _), (expected, _) = (
        gradient_of(on_fixture(name, **settings), embeddings, F8B) for name, settings in (one, other)
    )
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "settings", "border", "d"),
    [
        ("contrastive", {}, 1, D),
        ("margin", {}, 1.4, D),
        ("quadruplet", {"second_margin": -2}, 1, D),
        ("snr", {"form": "triplet", "margin": 1.0}, 1, oracles.SNR),
        ("triplet", {"margin": 1.2}, 1.2, D),
    ],
)
def test_a_switched_triplet_attracts_nothing(name, settings, border, d):
    # Anchor as its own positive and a classmate as the negative: only the push is left.
    switched = Triplets(*torch.tensor([[0], [0], [1]]))
    value, gradient = gradient_of(on_fixture(name, **settings), X, F8, switched)
    assert value == pytest.approx(max(0, border - d[0][1]), abs=1e-9 if name == "margin" else 1e-12)
    assert gradient[:2].norm(dim=1).gt(0).all() == (value > 0)
    assert not gradient[2:].any()


def test_beta_is_learned_unless_told_otherwise():
    assert [name for name, value in build("margin").named_parameters() if value.requires_grad] == ["beta"]
    fixed = build("margin", learn_beta=False)
    fixed(X.clone().requires_grad_(), F8).backward()
    assert fixed.beta.grad is None
    assert fixed.beta.tolist() == pytest.approx([1.2])


def test_a_tie_under_swap_is_shared():
    # The negative is as far from the anchor as from the positive: mirror images.
    embeddings = torch.tensor([[0.6, 0.8], [0.6, -0.8], [1.0, 0.0]], dtype=torch.float64)
    _, gradient = gradient_of(build("triplet", margin=1, swap=True), embeddings, torch.tensor([0, 0, 1]))
    torch.testing.assert_close(gradient[0], gradient[1] * torch.tensor([1, -1]))
    assert gradient[2].abs().max() < 1e-12


def _large_batch(n, n_classes):
    generator = torch.Generator().manual_seed(0)
    embeddings = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(n_classes, (n,), generator=generator)
    unit = normalize(embeddings)
    return embeddings, labels, torch.cdist(unit, unit), labels.unsqueeze(1) == labels


def test_triplets_of_classes_of_hundreds_are_counted_exactly():
    embeddings, labels, d, same = _large_batch(280, 2)
    valid = (same & ~torch.eye(280, dtype=torch.bool)).unsqueeze(2) & ~same.unsqueeze(1)
    hinges = (d.unsqueeze(2) - d.unsqueeze(1) + 0.1).relu()[valid]
    loss = build("triplet", margin=0.1)
    value, gradient = gradient_of(loss, embeddings, labels)
    assert value == pytest.approx((hinges.sum() / (hinges > 0).sum()).item(), abs=1e-10)
    leaf = embeddings.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss.formula(leaf, labels, None, generator=None), leaf)
    torch.testing.assert_close(gradient, expected)
    embeddings[3, 1] = torch.nan
    assert loss(embeddings, labels).isnan()


def test_quadruplets_of_a_batch_of_hundreds_are_counted_exactly():
    embeddings, labels, d, same = _large_batch(120, 60)
    terms = []
    for a, p in (same & ~torch.eye(120, dtype=torch.bool)).nonzero().tolist():
        apart = ~same[a].unsqueeze(1) & ~same[a] & ~same
        terms.append((d[a, p] - d[apart] + 0.5).relu())
    expected = torch.cat(terms).mean().item()
    assert build("quadruplet", margin=-2)(embeddings, labels).item() == pytest.approx(expected, abs=1e-9)


def _seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("settings", [{}, {"pairing": "all"}, {"pairing": "all", "fourth": "roth_code"}])
@pytest.mark.parametrize("reduction", ["mean_all", "mean_nz"])
def test_mined_triplets_are_paired_with_drawn_strangers(settings, reduction):
    a, p, n = (index.tolist() for index in T8B)
    if "fourth" in settings:
        number, _ = quadruplet._draw_stranger(T8B.negative, T8B.negative, T8B.negative, _seeded(3))
        drawn = T8B.anchor[number].tolist()
        pairs = [(t, m) for t in range(8) for m in drawn]
    else:
        strangers, exists = quadruplet._draw_stranger(F8B, F8B[T8B.anchor], F8B[T8B.negative], _seeded(3))
        assert exists.all()
        drawn, y = strangers.tolist(), F8B.tolist()
        pairs = [(t, m) for t in range(8) for m in drawn if y[m] not in (y[a[t]], y[n[t]])]
        pairs = pairs if settings else list(enumerate(drawn))
    first = [max(0.0, D[a[t]][p[t]] - D[a[t]][n[t]] + 1) for t in range(8)]
    second = [max(0.0, D[a[t]][p[t]] - D[n[t]][m] + 0.5) for t, m in pairs]
    value = build("quadruplet", **settings, reduction=reduction)(X, F8B, T8B, generator=_seeded(3))
    mean = oracles.MEANS[reduction]
    assert value.item() == pytest.approx(mean(first) + mean(second), abs=1e-12)


def test_strangers_are_of_neither_class_and_all_equally_likely():
    one, other = torch.zeros(6000, dtype=torch.long), torch.full((6000,), 2)
    rows, exists = quadruplet._draw_stranger(F8, one, other, _seeded(0))
    assert exists.all()
    # Classes 1 and 3 have rows 3, 4 and 7.
    counts = torch.bincount(rows, minlength=8)
    assert counts[[0, 1, 2, 5, 6]].sum() == 0
    assert (counts[[3, 4, 7]] - 2000).abs().max() < 200
    rows, _ = quadruplet._draw_stranger(F8, F8[[7] * 2000], F8[[7] * 2000], _seeded(0))
    assert rows.unique().tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_fewer_than_three_classes_leave_the_triplets():
    labels = torch.tensor([0, 0, 1, 1, 0, 1, 0, 1])
    mined = Triplets(*torch.tensor([[0], [1], [2]]))
    for tuples in (None, mined):
        expected = oracles.triplet(oracles.Tuples(labels, tuples), margin=1, reduction="mean_all")
        value = build("quadruplet")(X, labels, tuples, generator=_seeded(0)).item()
        assert value == pytest.approx(expected, abs=1e-12)


def test_one_random_positive_for_each_anchor():
    loss = build("n_pair", positives="one_random")
    every = oracles.Tuples(F8)
    term = {(a, p): log(1 + sum(exp(DOT[a][n] - DOT[a][p]) for n in every.far(a))) for a, p in every.positive}
    # Three anchors choose between two positives, four have one: eight equally likely values.
    fixed = sum(term[pair] for pair in [(3, 4), (4, 3), (5, 6), (6, 5)])
    possible = {
        round((term[0, p] + term[1, q] + term[2, r] + fixed) / 7, 9) for p in (1, 2) for q in (0, 2) for r in (0, 1)
    }
    generator = _seeded(0)
    drawn = [round(loss(X, F8, generator=generator).item(), 9) for _ in range(200)]
    assert set(drawn) == possible
    assert min(drawn.count(value) for value in possible) > 10


def test_both_parts_of_the_angular_loss_draw_the_same_random_positives():
    both = build("angular", npair_weight=1.0, angular_weight=2.0, positives="one_random")
    parts = build("angular", positives="one_random"), build("n_pair", positives="one_random")
    for seed in range(5):
        first, second = (loss(X, F8, generator=_seeded(seed)).item() for loss in parts)
        assert both(X, F8, generator=_seeded(seed)).item() == pytest.approx(2 * first + second, abs=1e-12)


@pytest.mark.parametrize("labels", [F8, F8B])
def test_the_rates_of_the_circle_loss_are_constants_to_the_gradient(labels):
    leaf, every = X.clone().requires_grad_(), oracles.Tuples(labels)
    s = normalize(leaf) @ normalize(leaf).T
    terms = []
    for a in range(8):
        near, far = every.near(a), every.far(a)
        if near:
            pull = -9 * (1.4 - s[a, near]).clamp_min(0).detach() * (s[a, near] - 0.6)
            push = 9 * (s[a, far] + 0.4).clamp_min(0).detach() * (s[a, far] - 0.4)
            terms.append(torch.log1p((pull.logsumexp(0) + push.logsumexp(0)).exp()))
    torch.stack(terms).mean().backward()
    torch.testing.assert_close(gradient_of(build("circle", margin=0.4, gamma=9.0), X, labels)[1], leaf.grad)


@pytest.mark.parametrize("labels", [F8, F8B])
def test_the_weights_of_the_ranked_list_loss_are_constants_to_the_gradient(labels):
    leaf, every = X.clone().requires_grad_(), oracles.Tuples(labels)
    unit = normalize(leaf)
    terms = []
    for i in range(8):
        for others, sign, border, temperature in ((every.near(i), 1, 0.8, 2.0), (every.far(i), -1, 1.2, 10.0)):
            violation = torch.stack([sign * ((unit[i] - unit[j]).norm() - border) for j in others] or [leaf.sum() * 0])
            violation = violation[violation > 0]
            weight = (temperature * violation).exp().detach()
            terms.append((weight * violation).sum() / weight.sum().clamp_min(1e-9) / 16)
    torch.stack(terms).sum().backward()
    torch.testing.assert_close(gradient_of(build("ranked_list", positive_temperature=2.0), X, labels)[1], leaf.grad)


@pytest.mark.parametrize("name", ["adaface", "adasp"])
def test_what_adaface_and_adasp_hold_constant_has_no_gradient(name):
    # Norms and weights of the positives move with the value, so that its slope is another than the gradient.
    settings = {"rate": 1.0} if name == "adaface" else {"temperature": 2.0}
    loss, leaf = on_fixture(name, **settings), X.clone().requires_grad_()
    z = normalize(leaf)
    if name == "adaface":
        lengths = X.norm(dim=1)
        h = (0.333 * (lengths - lengths.mean()) / (lengths.std() + 1e-3)).clamp(-1, 1)
        cosines = z @ normalize(PROXIES).T
        own = (cosines[range(8), F8B].arccos() - 0.4 * h).cos() - 0.4 - 0.4 * h
        cross_entropy(64 * cosines.scatter(1, F8B.unsqueeze(1), own.unsqueeze(1)), F8B).backward()
    else:
        terms = []
        for c in range(4):
            own, others = z[2 * c : 2 * c + 2], torch.cat([z[: 2 * c], z[2 * c + 2 :]])
            sums = (-own @ own.T / 2).exp().sum(1)
            ends = torch.stack([-sums.sum().log(), sums.reciprocal().sum().log()])
            low, high = (2 * ends).tolist()
            weight = 2 * low * high / (low + high) if low > 0 else 0.0
            sparse = weight * ends[0] + (1 - weight) * ends[1]
            terms.append(torch.log1p((own @ others.T / 2).exp().sum() / sparse.exp()))
        torch.stack(terms).mean().backward()
    torch.testing.assert_close(gradient_of(loss, X, F8B)[1], leaf.grad)


def test_running_norms_move_in_training_alone_and_one_sample_leaves_the_deviation():
    loss = on_fixture("adaface", rate=0.5)
    loss(X[:1], F8[:1])
    assert loss.mean.item() == pytest.approx((20 + X[0].norm().item()) / 2)
    assert loss.deviation.item() == 100
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    loss.eval()(X, F8)
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())


def test_sorted_margins_are_largest_for_the_sample_farthest_from_its_class():
    loss = on_fixture("elasticface", form="cos", scale=1.0, deviation=0.2, sorted_margins=True)
    drawn = sorted((0.5 + 0.2 * torch.randn(8, 1, generator=_seeded(0))).flatten().tolist())
    own = {i: oracles.cosine(X[i], PROXIES[y]) for i, y in enumerate(F8.tolist())}
    margins = dict(zip(sorted(own, key=own.get, reverse=True), drawn, strict=True))
    terms = [oracles.cos_face(X[i], y, margin=margins[i], scale=1.0) for i, y in enumerate(F8.tolist())]
    assert loss(X, F8, generator=_seeded(0)).item() == pytest.approx(sum(terms) / 8, abs=1e-7)


def test_pairs_and_classes_asked_one_by_one_are_binary_cross_entropies():
    same = (F8.unsqueeze(1) == F8).double()
    logits = 4 * torch.tensor(S, dtype=torch.float64) - 1
    terms = binary_cross_entropy_with_logits(logits, same, reduction="none").fill_diagonal_(0)
    value = build("sigmoid_pairs", scale=4.0, bias=-1.0)(X, F8).item()
    assert value == pytest.approx(terms.sum(1).mean().item(), abs=1e-12)
    logits = 3 * normalize(X) @ normalize(PROXIES).T - 2
    expected = binary_cross_entropy_with_logits(logits, one_hot(F8, 4).double(), reduction="sum").item() / 8
    value = on_fixture("unified_cross_entropy", scale=3.0, margin=0.0, bias=2.0)(X, F8).item()
    assert value == pytest.approx(expected, abs=1e-12)


def test_decoupling_takes_the_chance_of_the_positive_out_of_its_denominator():
    plain, decoupled = (build("nt_xent", temperature=0.5, decoupled=one)(X, F8B).item() for one in (False, True))
    every = oracles.Tuples(F8B)
    chances = [
        exp(2 * S[a][p]) / (exp(2 * S[a][p]) + sum(exp(2 * S[a][n]) for n in every.far(a))) for a, p in every.positive
    ]
    expected = plain + oracles.mean([log(1 - chance) for chance in chances])
    assert decoupled == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "settings", "scale"),
    [
        ("n_pair", {}, 100),
        ("nca", {"scale": 200.0}, 1),
        ("normalised_softmax", {"temperature": 1e-4}, 1),
        ("proxy_anchor", {"alpha": 1000}, 1),
        ("proxy_nca", {"scale": 50}, 1),
        ("proxy_nca", {"scale": 200}, 1),
        ("soft_triple", {"n_centres": 2, "gamma": 1e-6}, 1),
    ],
)
def test_what_is_too_small_or_too_large_for_float32_still_teaches(name, settings, scale):
    value, gradient = gradient_of(on_fixture(name, **settings).float(), scale * X.float(), F8B)
    expected, _ = gradient_of(on_fixture(name, **settings), scale * X, F8B)
    assert value == pytest.approx(expected, rel=1e-5)
    assert gradient.isfinite().all()
    assert gradient.norm() > 1e-3


def test_a_small_gamma_chooses_the_nearest_centre():
    loss = on_fixture("soft_triple", n_centres=2, scale=8, gamma=1e-6, margin=0, reg_weight=0)
    logits = torch.tensor([[8 * max(oracles.cosine(x, w) for w in centres) for centres in CENTRES] for x in X])
    assert loss(X, F8).item() == pytest.approx(cross_entropy(logits, F8).item(), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("normalised_softmax", {}), ("proxy_nca", {}), ("proxy_nca", {"positive_in_denominator": False})],
)
def test_one_class_leaves_nothing_to_learn(name, settings):
    loss = build(name, n_classes=1, **settings)
    value, gradient = gradient_of(loss, X.float(), torch.zeros(8, dtype=torch.long))
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("adaface", {}),
        ("arc_face", {}),
        ("elasticface", {}),
        ("magface", {}),
        ("sphere_face", {}),
        ("proxy_nca", {"power": 1}),
        ("sub_centre_arc_face", {}),
    ],
)
@pytest.mark.parametrize("sign", [1, -1, 0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_on_the_own_class_opposite_it_and_at_the_origin(name, settings, sign, dtype):
    loss = on_fixture(name, **settings, **{"n_centres": 1} if "sub" in name else {}).to(dtype)
    _, gradient = gradient_of(loss, (PROXIES[F8] * sign).to(dtype), F8)
    assert gradient.isfinite().all()
    assert all(weight.grad.isfinite().all() for weight in loss.parameters())


def test_coinciding_centres_have_a_finite_gradient():
    loss = build("soft_triple", n_centres=3)
    loss.centres.data.copy_(PROXIES.unsqueeze(1).expand(4, 3, 4))
    loss(X.float(), F8).backward()
    assert loss.centres.grad.isfinite().all()


def test_only_the_nearest_centre_of_each_class_learns():
    loss = on_fixture("sub_centre_arc_face", n_centres=2)
    loss(X[:1], F8[:1]).backward()
    assert ((loss.weights.grad.abs().sum(2) > 0).sum(1) == 1).all()


def test_centres_move_to_their_samples():
    loss = on_fixture("centre", weight=1.0)
    step = torch.optim.SGD([loss.centres], lr=2.0)
    for _ in range(60):
        step.zero_grad()
        loss(X, F8).backward()
        step.step()
    assert torch.allclose(loss.centres, torch.stack([X[c == F8].mean(0) for c in range(4)]), atol=1e-6)


def test_the_fallback_of_arc_face_keeps_the_loss_growing_with_the_angle():
    # Turning from class 0 at a right angle to class 1: past pi - 0.5, or 151 degrees, the plain cosine turns and
    # rewards standing opposite to the own class.
    angles = torch.tensor([140.0, 155.0, 175.0], dtype=torch.float64).deg2rad()
    turned = torch.stack([angles.cos(), angles.sin(), 0 * angles], dim=1)
    values = {}
    for fallback in (True, False):
        loss = build("arc_face", n_classes=2, embedding_dim=3, margin=0.5, scale=4, fallback=fallback).double()
        loss.weights.data.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
        values[fallback] = [loss(row.unsqueeze(0), torch.tensor([0])).item() for row in turned]
    assert values[True] == sorted(values[True])
    assert values[False][1] > values[False][2]


def test_anchors_with_nothing_left_to_learn_do_not_count_in_the_supervised_contrastive_loss():
    # At this temperature the two well-placed samples of class 0 have a loss of exactly 0 in float32.
    embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.6, 0.8]])
    value = build("sup_con", temperature=1e-3)(embeddings, torch.tensor([0, 0, 1, 1, 1]))
    # The third sample is 200 from both its positives; the fourth and fifth 200 from one, 0 from the other, of two.
    assert value.item() == pytest.approx((log(2) + 100 + 100) / 3, rel=1e-5)


def test_the_floor_of_nt_xent_saturates_as_in_the_code_of_the_reality_check():
    value, gradient = gradient_of(build("nt_xent", temperature=0.0002, log_floor=1e-20), X.float(), F8B)
    assert value == pytest.approx(46.0517, abs=1e-4)
    assert not gradient.any()
    exact, gradient = gradient_of(build("nt_xent", temperature=0.0002), X.float(), F8B)
    assert exact > 1000
    assert gradient.norm() > 100


def test_tuples_that_a_form_does_not_take_or_cannot_do_without():
    pairs = Pairs(*torch.tensor([[0], [1], [0], [3]]))
    with pytest.raises(InputError, match="SnrLoss takes Triplets from a miner; got Pairs"):
        build("snr", form="triplet")(X, F8, pairs)
    with pytest.raises(InputError, match=r"quadruplet\.fourth = 'roth_code' draws from mined triplets: give a miner"):
        build("quadruplet", fourth="roth_code")(X, F8)
