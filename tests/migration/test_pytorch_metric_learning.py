"""The rows and blocks for users of pytorch-metric-learning, compared with version 2.9; 3.0 needs Python 3.12."""

import inspect
import warnings

import pytest
import torch

from fairground.spec.catalogue import find, list_room
from tests.migration.page import blocks, quoted, section, table

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pytorch_metric_learning import distances, losses, miners, reducers

PAGE = section("pytorch-metric-learning")
LOSSES = table(PAGE, "pytorch_metric_learning.losses", "fairground.losses", "values")
MINERS = table(PAGE, "pytorch_metric_learning.miners", "fairground.miners", "tuples")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")


def call(code, *rooms):
    """Return what one cell of a table builds, of the peer's modules or of our rooms."""
    names = {}
    for room in rooms:
        kinds = [find(room, name) for name in list_room(room)] if isinstance(room, str) else vars(room).values()
        names |= {kind.__name__: kind for kind in kinds if inspect.isclass(kind)}
    return eval(code.strip("`"), {"__builtins__": {}}, {**names, "c": 9, "d": 16})


def batch(note):
    """Return embeddings and labels that meet what a note asks for."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(8, (32,), generator=generator)
    labels[3] = 8
    if "as many classes" in note:
        labels = torch.arange(5).repeat_interleave(5)
    elif "every class" in note:
        labels = torch.arange(8).repeat_interleave(4)
    embeddings = torch.randn(len(labels), 16, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(embeddings) if "unit" in note else embeddings, labels


def share_weights(mine, theirs):
    """Give the peer our class vectors, transposed where it keeps columns; and its borders our precision."""
    held = {name: value for name, value in theirs.named_parameters() if value.numel() > 9}
    if not held:
        for name, value in theirs.named_parameters():
            if name == "beta":
                torch.nn.init.constant_(value, 0.75)
        return
    (weights,) = held.values()
    rows = max(mine.parameters(), key=torch.Tensor.numel).detach().flatten(0, -2)
    weights.data = (rows if weights.shape == rows.shape else rows.T).contiguous().clone()


@pytest.mark.parametrize("row", LOSSES, ids=lambda row: row[0].strip("`"))
def test_losses_of_a_row_have_the_same_value_and_gradient(row):
    theirs, mine, note = row
    torch.manual_seed(0)
    their_loss = call(theirs, losses, distances, reducers).double()
    our_loss = call(mine, "losses").double()
    share_weights(our_loss, their_loss)
    embeddings, labels = batch(note)
    here, there = embeddings.clone().requires_grad_(), embeddings.clone().requires_grad_()
    our_value, their_value = our_loss(here, labels), their_loss(there, labels)
    tolerance = 5e-3 if "0.5 %" in note else 1e-6 if "as many" in note else 1e-9
    assert our_value.item() == pytest.approx(their_value.item(), rel=tolerance)
    if note == "same":
        our_value.backward()
        their_value.backward()
        scale = there.grad.abs().max().item()
        torch.testing.assert_close(here.grad, there.grad, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("row", MINERS, ids=lambda row: row[0].strip("`"))
def test_miners_of_a_row_choose_the_same_tuples(row):
    theirs, mine, note = row
    generator = torch.Generator().manual_seed(3)
    embeddings, labels = torch.randn(32, 16, generator=generator), torch.randint(9, (32,), generator=generator)
    found = call(mine, "miners")(embeddings, labels, generator=generator)
    torch.manual_seed(0)
    expected = call(theirs, miners)(embeddings, labels)
    if note == "same":
        assert as_sets(found) == as_sets(expected)
    else:
        assert note == "drawn by the same weights"
        assert set(found.anchor.tolist()) <= set(range(32))


def as_sets(tuples):
    """Return tuples as sets of index pairs, for each kind of pair there is."""
    parts = [part.tolist() for part in tuples]
    pairs = (parts[:2], parts[2:]) if len(parts) == 4 else ((parts[0], parts[1], parts[2]),)
    if len(parts) == 4 and parts[0] == parts[2]:
        pairs = ((parts[0], parts[1], parts[3]),)
    return [set(zip(*pair, strict=True)) for pair in pairs]


def test_every_loss_and_miner_of_theirs_is_spoken_of():
    for room, base in ((losses, losses.BaseMetricLossFunction), (miners, miners.BaseMiner)):
        for name, kind in inspect.getmembers(room, inspect.isclass):
            if not name.startswith("Base") and (issubclass(kind, base) or name.endswith("Losses")):
                assert name in PAGE, name


def test_every_part_of_ours_that_is_named_is_there():
    rooms = {"loss": "losses", "miner": "miners", "sampler": "samplers", "regulariser": "regularisers"}
    for words in quoted(PAGE):
        for word in words.split():
            key, _, name = word.partition("=")
            if key in rooms and name and ":" not in name:
                assert name in list_room(rooms[key]), word


def test_the_blocks_say_the_same_before_and_after():
    said = {}
    for block in blocks(PAGE, "python"):
        exec(compile(block, "docs/migration.md", "exec"), said)
        if "before" not in said:
            continue
        before, after = said.pop("before"), said.pop("after")
        if isinstance(before, dict):
            names = dict(before)
            assert after == pytest.approx(names, abs=1e-5)
        elif before.ndim == 2:
            labels = said["labels"]
            for rows in (*before, *after):
                classes, counts = labels[rows].unique(return_counts=True)
                assert (len(classes), set(counts.tolist())) == (4, {4})
        else:
            assert after.item() == pytest.approx(before.item(), rel=1e-5)
