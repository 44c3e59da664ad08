"""Formula and kernel of the losses on pairs and triplets, under every setting that takes another path."""

import pytest
import torch

from fairground.contracts.loss import Loss, LossInputs, Pairs, Triplets, Tuples
from fairground.spec.catalogue import find

SETTINGS: list[tuple[str, dict[str, object]]] = [
    ("angular", {}),
    ("angular", {"alpha": 85.0, "npair_weight": 1.0, "angular_weight": 2.0, "norm_weight": 0.005}),
    ("angular", {"positives": "one_random", "npair_weight": 0.5, "normalise": True}),
    ("circle", {}),
    ("circle", {"margin": -0.2, "gamma": 512}),
    ("contrastive", {}),
    ("contrastive", {"positive_margin": 0.2, "negative_margin": 0.8, "reduction": "mean_all"}),
    ("generalised_lifted_structure", {}),
    ("generalised_lifted_structure", {"normalise": True, "reduction": "sum", "norm_weight": 0.1, "norm_power": 2}),
    ("generalised_lifted_structure", {"norm_weight": 0.1}),
    ("lifted_structure", {}),
    ("margin", {}),
    ("margin", {"count": "tuples", "beta_weight": 0.3}),
    ("margin", {"beta_kind": "per_class", "n_classes": 6, "beta": 0.9, "beta_weight": 0.1}),
    ("margin", {"learn_beta": False, "margin": 0.5}),
    ("multi_similarity", {}),
    ("multi_similarity", {"epsilon": 0.1, "empty": "survivors"}),
    ("multi_similarity", {"epsilon": 0.4, "empty": "batch", "self_positive_bug": True}),
    ("multi_similarity", {"beta": 100, "alpha": 80, "base": 1.0, "epsilon": 0.2}),
    ("nca", {}),
    ("nca", {"scale": 100}),
    ("nt_xent", {}),
    ("nt_xent", {"temperature": 0.001, "log_floor": 1e-20}),
    ("nt_xent", {"temperature": 0.01, "log_floor": "tiny"}),
    ("nt_xent", {"log_floor": 0.1}),
    ("quadruplet", {}),
    ("quadruplet", {"margin": 0.2, "second_margin": -0.1, "reduction": "mean_nz"}),
    ("ranked_list", {}),
    ("ranked_list", {"weights": "differentiated", "positive_temperature": 2.0}),
    ("snr", {}),
    ("snr", {"positive_margin": 0.3, "negative_margin": 0.8, "reduction": "mean_all", "zero_mean_weight": 0.1}),
    ("snr", {"form": "triplet", "zero_mean_weight": 0.005}),
    ("snr", {"form": "triplet", "reduction": "mean_all"}),
    ("sup_con", {}),
    ("sup_con", {"temperature": 0.01}),
    ("triplet", {}),
    ("triplet", {"power": 2, "reduction": "mean_all"}),
    ("triplet", {"swap": True}),
    ("triplet", {"smooth": True, "power": 2}),
    ("triplet", {"smooth": True, "swap": True, "margin": -0.1}),
    ("tuplet_margin", {}),
    ("tuplet_margin", {"scale": 1, "margin": 30}),
]
#: settings without a kernel, since they need a miner
MINED: list[tuple[str, dict[str, object]]] = [
    ("quadruplet", {"pairing": "all"}),
    ("quadruplet", {"fourth": "roth_code", "reduction": "mean_nz"}),
    ("quadruplet", {"fourth": "roth_code", "pairing": "all"}),
]
each_setting = pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)


def build(name: str, settings: dict[str, object]) -> Loss:
    loss: Loss = find("losses", name)(**settings)
    return loss.double()


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a batch with classes of any size, often none of them with two, and at times with copies and zero rows.

    Those are of numbers without rounding: at the corner of a hinge, kernel and formula then stand on the same side.
    """
    generator = torch.Generator().manual_seed(seed)
    n = int(torch.randint(1, 14, (1,), generator=generator))
    embeddings = torch.randn(n, 4, generator=generator, dtype=torch.float64) * (1.0, 1e-3, 5.0)[seed % 3]
    if seed % 3 == 1:
        units = torch.cat([torch.eye(4), 0.5 * torch.tensor([[1, 1, 1, 1], [1, -1, 1, -1]]), torch.zeros(1, 4)])
        embeddings = units.double()[torch.randint(len(units), (n,), generator=generator)] * 2.0 ** (seed % 5)
    n_classes = int(torch.randint(1, 7, (1,), generator=generator))
    return embeddings, torch.randint(n_classes, (n,), generator=generator)


def mined(labels: torch.Tensor, kinds: tuple[type, ...], seed: int) -> list[Tuples | None]:
    """Return no tuples, and for losses that take them some with repeats, none at all, and a row paired with itself."""
    generator = torch.Generator().manual_seed(seed)
    n = len(labels)
    columns = torch.randint(n, (4, 2 * n), generator=generator)
    nothing = torch.empty(0, dtype=torch.long)
    found: list[Tuples | None] = [None]
    if Pairs in kinds:
        found += [Pairs(*columns), Pairs(nothing, nothing, *columns[2:]), Pairs(*columns[:2], nothing, nothing)]
    if Triplets in kinds:
        found += [Triplets(*columns[:3]), Triplets(nothing, nothing, nothing)]
    return found


def gradients(loss: Loss, value: torch.Tensor, leaf: torch.Tensor) -> tuple[torch.Tensor, ...]:
    wanted = [leaf, *(weight for weight in loss.parameters() if weight.requires_grad)]
    return torch.autograd.grad(value, wanted, materialize_grads=True)


@each_setting
def test_the_kernel_equals_the_formula(name, settings):
    loss = build(name, settings)
    n_kernels = 0
    for seed in range(60):
        embeddings, labels = batch(seed)
        for tuples in mined(labels, loss.accepts, seed):
            generators = [torch.Generator().manual_seed(seed) for _ in range(2)]
            with torch.no_grad():
                result = loss.kernel(LossInputs(embeddings, labels, tuples, generators[0]))
            leaf = embeddings.clone().requires_grad_()
            value = loss.formula(leaf, labels, tuples, generator=generators[1])
            assert value.isfinite()
            found = gradients(loss, value, leaf)
            assert all(gradient.isfinite().all() for gradient in found)
            if result is None:
                continue
            n_kernels += 1
            assert torch.equal(generators[0].get_state(), generators[1].get_state())
            largest = max(float(found[0].abs().max()), 1.0)
            # Of a constant vector the signal-to-noise ratio is of the order 1e12, and so is what is lost in rounding.
            rounding = 1e-5 if name == "snr" and (embeddings[:, :1] == embeddings).all(1).any() else 1e-12
            torch.testing.assert_close(result.value, value.detach(), rtol=1e-11, atol=rounding)
            torch.testing.assert_close(result.gradient, found[0], rtol=1e-8, atol=1e-10 * largest)
            torch.testing.assert_close(result.parameter_gradients[: len(found) - 1], found[1:], rtol=1e-9, atol=1e-12)
    assert n_kernels > 20


def ample(n_classes: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(9, 4, generator=generator, dtype=torch.float64), torch.arange(9) % n_classes


def tuples_for(loss: Loss, labels: torch.Tensor) -> list[Tuples | None]:
    miner = find("miners", "random")()
    chosen = miner(ample()[0], labels, generator=torch.Generator().manual_seed(0))
    return [None] * (getattr(loss, "fourth", "strict") == "strict") + [chosen] * (Triplets in loss.accepts)


@pytest.mark.parametrize(("name", "settings"), SETTINGS + MINED, ids=str)
def test_second_derivatives_of_degenerate_batches_are_finite(name, settings):
    loss = build(name, settings)
    for seed in range(24):
        embeddings, labels = batch(seed)
        leaf = embeddings.clone().requires_grad_()
        tuples = mined(labels, loss.accepts, seed)
        for chosen in tuples if getattr(loss, "fourth", "strict") == "strict" else tuples[1:]:
            value = loss(leaf, labels, chosen, generator=torch.Generator().manual_seed(1))
            (first,) = torch.autograd.grad(value, leaf, create_graph=True)
            (second,) = torch.autograd.grad(first.square().sum(), leaf, materialize_grads=True)
            assert second.isfinite().all()


@pytest.mark.parametrize(("name", "settings"), SETTINGS + MINED, ids=str)
def test_the_formula_goes_through_compile_and_func(name, settings):
    torch._dynamo.reset()
    loss = build(name, settings)
    embeddings, labels = ample()
    for tuples in tuples_for(loss, labels):
        is_drawn = loss.is_random and (tuples is not None or name != "quadruplet")
        compiled = torch.compile(lambda x, tuples=tuples: loss(x, labels, tuples), fullgraph=True, backend="aot_eager")
        leaf, plain = embeddings.clone().requires_grad_(), embeddings.clone().requires_grad_()
        torch.manual_seed(0)
        (found,) = torch.autograd.grad(compiled(leaf), leaf)
        torch.manual_seed(0)
        by_func = torch.func.grad(lambda x, tuples=tuples: loss(x, labels, tuples))(embeddings)
        torch.manual_seed(0)
        (expected,) = torch.autograd.grad(loss(plain, labels, tuples), plain)
        torch.testing.assert_close(by_func, expected, rtol=1e-8, atol=1e-10)
        if not is_drawn:
            torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)
