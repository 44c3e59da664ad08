"""The weighted sum: its value by hand, and what its losses see."""

import pytest
import torch

import fairground as fg
from fairground.contracts.loss import Pairs, Triplets
from fairground.spec import load_run, parse_overrides

EMBEDDINGS = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
LABELS = torch.tensor([0, 0, 1, 1])


def test_by_hand():
    # Similarities: positive pairs 0.6 and 0; negative ones 0, -1, 0.8, -0.6. Distances are sqrt(2 - 2 s).
    contrastive = fg.losses.ContrastiveLoss(negative_margin=1.0)
    hinge = 1 - (2 - 2 * 0.8) ** 0.5
    distances = [(2 - 2 * 0.6) ** 0.5, 2**0.5]
    total = fg.losses.WeightedSumLoss(losses=[contrastive, fg.losses.TripletLoss(margin=0.0)], weights=[2.0, 0.5])
    triplets = Triplets(torch.tensor([2, 0]), torch.tensor([3, 1]), torch.tensor([1, 2]))
    # Of two triplets only the first is violated: sqrt(2) against the distance of 0.8.
    violated = distances[1] - (2 - 2 * 0.8) ** 0.5
    mined = fg.losses.TripletLoss(margin=0.0)(EMBEDDINGS, LABELS, triplets)
    assert float(mined) == pytest.approx(violated)
    pairs = contrastive(EMBEDDINGS, LABELS, triplets)
    assert float(total(EMBEDDINGS, LABELS, triplets)) == pytest.approx(2 * float(pairs) + 0.5 * violated)
    plain = torch.nn.CrossEntropyLoss()  # a module of someone else: embeddings are its logits
    whole = fg.losses.WeightedSumLoss(losses=[contrastive, plain], weights=[3.0, 2.0])(EMBEDDINGS, LABELS)
    assert float(whole) == pytest.approx(3 * (sum(distances) / 2 + hinge) + 2 * float(plain(EMBEDDINGS, LABELS)))


def test_tuples_go_to_the_losses_that_take_them_and_gradients_add_up():
    torch.manual_seed(0)
    names, weights = ("contrastive", "proxy_anchor"), (0.3, 0.7)
    total = fg.losses.WeightedSumLoss(n_classes=2, embedding_dim=2, losses=names, weights=weights).double()
    first, second = total.losses
    assert set(total.accepts) == set(first.accepts)
    pairs = Pairs(*torch.tensor([[0], [1], [1], [2]]))
    x = EMBEDDINGS.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(total(x, LABELS, pairs), x)
    separate = [torch.autograd.grad(loss, x)[0] for loss in (first(x, LABELS, pairs), second(x, LABELS))]
    assert torch.allclose(gradient, 0.3 * separate[0] + 0.7 * separate[1])
    assert len(list(total.parameters())) == 1


def test_a_loss_with_a_miner_of_its_own_sees_its_tuples():
    names = ["triplet", "contrastive"]
    total = fg.losses.WeightedSumLoss(losses=names, miners={"triplet": "semihard"}, settings={"triplet.margin": 1.0})
    pairs = Pairs(*torch.tensor([[0], [1], [1], [2]]))
    triplets = fg.miners.SemihardMiner()(EMBEDDINGS, LABELS, generator=torch.Generator().manual_seed(4))
    expected = fg.losses.TripletLoss(margin=1.0)(EMBEDDINGS, LABELS, triplets)
    expected = expected + fg.losses.ContrastiveLoss()(EMBEDDINGS, LABELS, pairs)
    found = total(EMBEDDINGS, LABELS, pairs, generator=torch.Generator().manual_seed(4))
    assert float(found) == pytest.approx(float(expected))
    assert total.is_random


def test_settings_are_written_as_on_the_command_line():
    words = ["loss=weighted_sum", 'loss.losses=["triplet", "arc_face"]', "loss.weights=[1, 0.5]"]
    words += ["loss.settings.triplet.margin=0.25", "loss.miners.triplet=semihard"]
    spec = load_run(overrides=parse_overrides(words))
    assert spec.loss.settings["settings"] == {"triplet.margin": 0.25}
    built = fg.losses.WeightedSumLoss(n_classes=3, embedding_dim=4, **spec.loss.settings)
    assert built.losses[0].margin == 0.25
    assert [type(miner).__name__ for miner in built.miners] == ["SemihardMiner", "NoneType"]
