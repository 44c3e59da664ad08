"""Losses of all kinds and settings, and batches to hold them against."""

import inspect
from typing import Literal, get_args, get_origin, get_type_hints

import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.errors import InputError
from fairground.spec import Choice, LogReal, Real, find, list_room
from tests.losses import fixtures

N_CLASSES, DIMENSION = 6, 5
NAMES = list(list_room("losses"))


DECOUPLED = {"decoupled": True, "decoupled_sigma": 0.5}
#: settings that take another path only together
COMBINED = {
    "adaface": [{"rate": 1.0, "concentration": 0.0}],
    "angular": [
        {"alpha": 85.0, "npair_weight": 1.0, "angular_weight": 2.0, "norm_weight": 0.005},
        {"positives": "one_random", "npair_weight": 0.5, "normalise": True},
    ],
    "arc_face": [{"clamp_min": 0.0, "fallback": False}],
    "circle": [{"margin": -0.2, "gamma": 512}],
    "elasticface": [{"form": "cos", "margin": 0.35, "sorted_margins": True}],
    "generalised_lifted_structure": [
        {"normalise": True, "reduction": "sum", "norm_weight": 0.1, "norm_power": 2},
        {"norm_weight": 0.1},
        {"norm_weight": 0.0},
    ],
    "hierarchical_ap": [
        {"levels": torch.tensor([[0, 0], [1, 0], [2, 0], [3, 1], [4, 1], [5, 1]]), "alpha": 0.5, "offset": None},
        {"query_in_ranking": True, "calibration_weight": 1.0, "temperature": 0.1},
    ],
    "hist": [{"hidden": 7, "tau": 2.0}, {"hypergraph_weight": 0.0}],
    "histogram": [{"nodes": 11, "roth_code": True}],
    "magface": [{"low_norm": 0.5, "high_norm": 3.0}],
    "margin": [
        {"count": "tuples", "beta_weight": 0.3},
        {"beta_kind": "per_class", "beta": 0.9, "beta_weight": 0.1},
        {"learn_beta": False, "margin": 0.5},
    ],
    "matryoshka": [
        {"dimensions": [2, 5]},
        {"dimensions": [4, 2], "weights": [1.0, 0.5], "class_weights": "own", "loss": "proxy_anchor"},
        {"dimensions": [5, 3], "loss": "soft_triple", "settings": {"n_centres": 2}},
        {"dimensions": [5, 3], "loss": "margin"},
    ],
    "multi_similarity": [
        {"epsilon": 0.1, "empty": "survivors"},
        {"epsilon": 0.4, "empty": "batch", "self_positive_bug": True},
        {"beta": 100, "alpha": 80, "base": 1.0, "epsilon": 0.2},
    ],
    "n_pair": [{"norm_weight": 0.0}, {"norm_weight": 0.0, "normalise": True}],
    "nca": [{"scale": 100}],
    "nt_xent": [{"temperature": 0.01, "log_floor": "tiny"}, {"log_floor": 0.1}, DECOUPLED],
    "pairwise_cross_entropy": [{"distance": "poincare", "epsilon": 0.0}, {"distance": "poincare", "longest": 100.0}],
    "proxy_nca": [{"positive_in_denominator": False, "power": 1}],
    "quadruplet": [
        {"margin": 0.2, "second_margin": -0.1, "reduction": "mean_nz"},
        {"pairing": "all", "fourth": "roth_code"},
    ],
    "ranked_list": [{"weights": "differentiated", "positive_temperature": 2.0}],
    "self_distillation": [
        {"embedding_dim": 2, "branches": (3,), "weight": 2.0},
        {"embedding_dim": 1, "branches": (2, 1), "feature_weight": 3.0, "feature_start": 0},
        {"loss": "triplet", "miner": "semihard"},
    ],
    "sigmoid_pairs": [{"bias": -10.0, "balanced": True}],
    "snr": [
        {"positive_margin": 0.3, "negative_margin": 0.8, "reduction": "mean_all", "zero_mean_weight": 0.1},
        {"form": "triplet", "zero_mean_weight": 0.005},
        {"form": "triplet", "reduction": "mean_all"},
    ],
    "sup_con": [{"temperature": 0.01}, DECOUPLED],
    "triplet": [{"power": 2, "reduction": "mean_all"}, {"smooth": True, "power": 2}, {"smooth": True, "swap": True}],
    "tuplet_margin": [{"scale": 1, "margin": 30}],
    "unified_cross_entropy": [{"scale": 2.0, "clamp_exponents": True, "bias": 1.0}],
}


def build(name, dtype=torch.float64, **chosen):
    """Return a fresh loss with the same first weights every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return fixtures.build(name, **{"n_classes": N_CLASSES, "embedding_dim": DIMENSION, **chosen}).to(dtype)


def variants(name):
    """Yield the settings of a loss: its defaults, both ends of what is searched, every other choice by itself.

    Numbers are moved a little inwards: at a margin of exactly 1, where zero rows are, or 0, where copies are, rounding
    decides which hinges count.
    """
    kind = find("losses", name)
    takes = inspect.signature(kind).parameters
    searched = {setting: range_ for setting, range_ in kind.tunable.items() if isinstance(range_, Real | LogReal)}
    usual = {setting: _inwards(takes[setting].default, range_) for setting, range_ in searched.items()}
    yield usual
    for setting, range_ in kind.tunable.items():
        for end in range_.options if isinstance(range_, Choice) else (range_.low, range_.high):
            yield {**usual, setting: _inwards(end, range_) if setting in searched else end}
    for setting, hint in get_type_hints(kind.__init__).items():
        choices = get_args(hint) if get_origin(hint) is Literal else (False, True) if hint is bool else ()
        for choice in choices:
            if takes[setting].default != choice:
                yield {**usual, setting: choice}


def _inwards(value, range_):
    return value + 1e-3 * (range_.low + 0.501 * (range_.high - range_.low) - value)


def built_variants(name, dtype=torch.float64, *, mined=True):
    """Yield a loss for every one of its settings that can stand by itself; not `mined`, those that need no miner."""
    for chosen in (*variants(name), *COMBINED.get(name, [])):
        try:
            loss = build(name, dtype, **chosen)
        except InputError:
            # Some choices need a second one, and are among the combined.
            continue
        if mined or None in tuple_kinds(loss):
            yield chosen, loss


def tuple_kinds(loss):
    """Return the kinds of tuples a loss takes, None among them unless it must have some."""
    is_mined = getattr(loss, "fourth", "strict") == "roth_code"
    return loss.accepts if is_mined else (None, *loss.accepts)


def batch(n=12, seed=0, dtype=torch.float64, n_classes=N_CLASSES):
    """Return embeddings (n, d) drawn from a normal distribution, and labels that take turns."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(n, DIMENSION, generator=generator, dtype=torch.float64).to(dtype)
    return embeddings, torch.arange(n) % n_classes


def random_batch(generator, *, n_most=9):
    """Return embeddings (n, d) and labels, often with few classes, copies, zero rows, or lengths far from 1.

    Also tells whether some rows are copies or zero, so that a distance of 0 may be one of 1e-8.
    """
    n = int(torch.randint(n_most + 1, (), generator=generator))
    kind = int(torch.randint(8, (), generator=generator))
    n_classes = 1 + int(torch.randint(N_CLASSES, (), generator=generator))
    embeddings = torch.randn(n, DIMENSION, generator=generator, dtype=torch.float64)
    labels = torch.randint(n_classes, (n,), generator=generator)
    if n and kind == 1:
        embeddings[torch.rand(n, generator=generator) < 0.5] = embeddings[0].clone()
    if n and kind == 2:
        embeddings[torch.rand(n, generator=generator) < 0.3] = 0
    if n and kind == 3:
        embeddings *= 10.0 ** float(torch.randint(-4, 3, (), generator=generator))
    if n and kind == 4:
        embeddings = embeddings[labels % n]
    return embeddings, labels, kind in (1, 2, 4)


def random_tuples(kind, labels, generator):
    """Return a few tuples of a batch, some of them twice, or none where there are none."""
    n = len(labels)
    same = labels.unsqueeze(1) == labels
    positive = (same & ~torch.eye(n, dtype=torch.bool)).nonzero()
    negative = (~same).nonzero()
    if kind is Pairs:
        return Pairs(*_drawn(positive, generator).T, *_drawn(negative, generator).T)
    triplets = torch.tensor(
        [(a, p, b) for a, p in positive.tolist() for c, b in negative.tolist() if a == c], dtype=torch.long
    ).view(-1, 3)
    return Triplets(*_drawn(triplets, generator).T)


def _drawn(rows, generator):
    count = min(6, len(rows))
    return rows[torch.randint(max(1, len(rows)), (count,), generator=generator)]


def value_and_gradient(loss, embeddings, labels):
    """Return the loss, as its kernel gives it if it has one, and its gradient by the embeddings."""
    leaf = embeddings.clone().requires_grad_()
    value = loss(leaf, labels, generator=torch.Generator().manual_seed(1))
    assert value.shape == ()
    value.backward()
    assert leaf.grad is not None
    return value.detach(), leaf.grad
