import pytest
import torch
from torch.autograd import gradcheck

from fairground.kernels import sphere_hinges
from fairground.kernels.gradients import with_gradient
from fairground.kernels.sphere_hinges import PairShares, PairTotals

LABELS = torch.tensor([0, 0, 1, 0, 2, 1, 3, 0, 2, 0])
SIZES = [(10, 4), (40, 7), (210, 2)]


def _points(n: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(n, 5, generator=torch.Generator().manual_seed(n), dtype=torch.float64).to(dtype)


def _sums(totals: PairTotals) -> PairShares:
    n = max(1, totals.n_near + totals.n_far)
    return PairShares((totals.near + totals.far) / n, 1 / n, 1 / n)


@pytest.mark.parametrize("over_active", [False, True])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("n", "n_classes"), SIZES)
def test_compiled_triplets_equal_those_of_tensor_operations(n, n_classes, squared, over_active):
    z = torch.nn.functional.normalize(_points(n))
    labels = torch.arange(n) % n_classes
    ours = sphere_hinges._compiled_triplets(z, labels, 0.2, squared, over_active)
    theirs = sphere_hinges._triplets(z, labels, 0.2, squared, over_active)
    torch.testing.assert_close(ours[0], theirs[0])
    # Gradients may differ along the vectors, where they come to nothing.
    difference = ours[1] - theirs[1]
    across = difference - (difference * z).sum(1, keepdim=True) * z
    torch.testing.assert_close(across, torch.zeros_like(across), atol=1e-9, rtol=0)


@pytest.mark.parametrize("by_triplets", [False, True])
@pytest.mark.parametrize(("n", "n_classes"), SIZES)
def test_compiled_pairs_equal_those_of_tensor_operations(n, n_classes, by_triplets):
    z = torch.nn.functional.normalize(_points(n))
    labels = torch.arange(n) % n_classes
    upper = torch.linspace(0.2, 0.9, n, dtype=torch.float64)
    totals: list[PairTotals] = []

    def share(found: PairTotals) -> PairShares:
        totals.append(found)
        return _sums(found)

    ours = sphere_hinges._compiled_pairs(z, labels, upper, upper + 0.3, share, by_triplets)
    theirs = sphere_hinges._pairs(z, labels, upper, upper + 0.3, share, by_triplets)
    for one, other in zip(*totals, strict=True):
        assert one == pytest.approx(other.item(), abs=1e-9)
    torch.testing.assert_close(ours.loss, theirs.loss)
    torch.testing.assert_close(ours.border, theirs.border)
    difference = ours.gradient - theirs.gradient
    across = difference - (difference * z).sum(1, keepdim=True) * z
    torch.testing.assert_close(across, torch.zeros_like(across), atol=1e-9, rtol=0)


@pytest.mark.parametrize("work", [sphere_hinges._compiled_triplets, sphere_hinges._triplets])
@pytest.mark.parametrize("squared", [False, True])
def test_triplet_gradients_agree_with_finite_differences(work, squared):
    def loss(x: torch.Tensor) -> torch.Tensor:
        return with_gradient(x, lambda z: work(z, LABELS, 0.2, squared, True), normalise=True)

    assert gradcheck(loss, _points(10).requires_grad_())


@pytest.mark.parametrize("work", [sphere_hinges._compiled_pairs, sphere_hinges._pairs])
@pytest.mark.parametrize("by_triplets", [False, True])
def test_pair_gradients_agree_with_finite_differences(work, by_triplets):
    def loss(x: torch.Tensor) -> torch.Tensor:
        return with_gradient(x, lambda z: work(z, LABELS, 0.3, 1.2, _sums, by_triplets)[:2], normalise=True)

    assert gradcheck(loss, _points(10).requires_grad_())


@pytest.mark.parametrize("work", [sphere_hinges._compiled_pairs, sphere_hinges._pairs])
def test_the_slope_of_the_borders_is_that_of_moving_them(work):
    z = torch.nn.functional.normalize(_points(10))
    border = torch.full((10,), 0.9, dtype=torch.float64)
    found = work(z, LABELS, border - 0.1, border + 0.1, _sums, True)
    moved = border.clone()
    moved[3] += 1e-6
    change = work(z, LABELS, moved - 0.1, moved + 0.1, _sums, True).loss - found.loss
    assert change.item() / 1e-6 == pytest.approx(found.border[3].item(), abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_batch_that_is_not_a_number_has_a_loss_that_is_not(dtype):
    x = _points(10, dtype)
    x[4] = torch.nan
    assert sphere_hinges._compiled_triplets(x, LABELS, 0.2, False, True)[0].isnan()
    assert sphere_hinges._compiled_pairs(x, LABELS, 0.0, 1.0, _sums, False).loss.isnan()


def test_labels_may_be_any_integers():
    z = torch.nn.functional.normalize(_points(10))
    renamed = torch.tensor([2**40, -7, 10**12, 5])[LABELS]
    for one, other in zip(
        sphere_hinges._compiled_triplets(z, LABELS, 0.2, False, True),
        sphere_hinges._compiled_triplets(z, renamed, 0.2, False, True),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
