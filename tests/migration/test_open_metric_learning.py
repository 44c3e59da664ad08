"""The table of open-metric-learning as the page shows it, and the words for its parts."""

import numpy as np
import pytest
import torch

from fairground.datasets import TableDataset
from fairground.losses import ArcFaceLoss, TripletLoss
from fairground.miners import AllTuplesMiner, HardestMiner
from fairground.spec import load_run, parse_overrides
from fairground.splits import ListedSplit
from fairground.training.run import run
from tests.datasets.pictures import picture
from tests.migration.page import blocks, commands, quoted, section, table

PAGE = section("open-metric-learning")
(CSV,) = blocks(PAGE, "csv")


@pytest.fixture
def home(tmp_path, monkeypatch):
    for number in range(8):
        picture(tmp_path / "images" / f"{number}.png", number, size=(20, 16))
    (tmp_path / "df.csv").write_text(CSV, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_column_of_the_page_arrives(home):
    table = TableDataset(path="df.csv").load()
    assert table.class_names == ("0", "1", "2", "3")
    assert table.listed_parts.tolist() == ["train"] * 4 + ["validation"] * 4
    assert table.is_query.tolist() == [False] * 4 + [True, True, True, False]
    assert table.is_gallery.tolist() == [False] * 4 + [True, True, False, True]
    assert table.super_labels.tolist() == [0] * 4 + [1] * 4
    assert table.groups.tolist() == list(range(8))
    assert table.images.sizes(np.arange(6)).tolist() == [[8, 8], [16, 20], [10, 8], [16, 20], [16, 20], [16, 16]]
    assert table.notes == ()
    parts = ListedSplit(validation=0.5).parts(table)
    assert parts.test.tolist() == [4, 5, 6, 7]
    assert len(parts.train) == len(parts.validation) == 2


def test_it_trains_and_its_queries_search_its_gallery(home):
    small = ["transform=plain", "transform.side=16", "transform.shorter_side=16", "trunk.widths=[8]"]
    short = ["sampler.per_class=2", "training.batch_size=2", "training.epochs=1", "training.batches_per_epoch=2"]
    words = ["data=table", "data.path=df.csv", "split=listed", "split.validation=0.5", "head.embedding_dim=8"]
    record = run(load_run(overrides=parse_overrides([*small, *short, *words])), home=home / "runs")
    assert record.state == "done"
    # Three queries, each with one image of its class to find, and with itself left out.
    assert record.score("recall@1") in (pytest.approx(number / 3) for number in range(4))


def test_every_line_and_every_row_that_is_a_spec_loads(home):
    for words in commands(PAGE):
        if words[0] == "train":
            spec = load_run(protocol=words[2], overrides=parse_overrides(words[3:]))
            assert (spec.data.name, spec.split.name) == ("table", "listed")
    for _, ours in table(PAGE, "theirs", "ours"):
        for said in quoted(ours):
            words = [word for word in said.split() if "=" in word and "@" not in word]
            words = [word for word in words if not any(hole in word for hole in ("N", "n_"))]
            if words and not said.startswith("fairground"):
                load_run(overrides=parse_overrides(words))


def test_the_triplet_and_arc_face_of_a_unit_vector_by_its_own_formula():
    # Their arithmetic, written down: distances as they come, the mean over all triplets, zeros included.
    generator = torch.Generator().manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(12, 4, generator=generator, dtype=torch.float64))
    y = torch.arange(12) // 3
    distance = torch.cdist(x, x)
    for miner in (AllTuplesMiner(), HardestMiner()):
        tuples = miner(x, y)
        gap = distance[tuples.anchor, tuples.positive] - distance[tuples.anchor, tuples.negative]
        hinge = TripletLoss(margin=0.2, reduction="mean_all")(x, y, tuples)
        soft = TripletLoss(margin=0.0, smooth=True, reduction="mean_all")(x, y, tuples)
        assert hinge.item() == pytest.approx((gap + 0.2).relu().mean().item(), abs=1e-12)
        assert soft.item() == pytest.approx(gap.exp().log1p().mean().item(), abs=1e-12)
    loss = ArcFaceLoss(n_classes=4, embedding_dim=4, margin=0.5, scale=64.0).double()
    cosine = (x @ torch.nn.functional.normalize(loss.weights.detach()).T).clamp(-1, 1)
    moved = torch.where(cosine.arccos() < torch.pi - 0.5, (cosine.arccos() + 0.5).cos(), cosine - 0.5 * np.sin(0.5))
    logits = 64 * torch.where(torch.nn.functional.one_hot(y).bool(), moved, cosine)
    assert loss(x, y).item() == pytest.approx(torch.nn.functional.cross_entropy(logits, y).item(), rel=1e-9)
