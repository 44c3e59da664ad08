"""Python objects and plain modules as parts of a run: networks, losses, samplers, transforms, optimisers, data."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from pytorch_metric_learning import losses as pml_losses
from torch import Tensor, nn
from torch.utils.data import BatchSampler, Dataset, RandomSampler, TensorDataset

import fairground as fg
from fairground.errors import InputError
from fairground.loading.object_dataset import ObjectDataset
from fairground.records.training_events import BatchTrained, EpochEnded
from fairground.spec import RunSpec, load_run, parse_overrides
from fairground.training.outside_parts import ExternalLoss
from fairground.training.python_objects import digest_of, name_of_object
from fairground.training.run import run
from tests.training.tiny import tiny_words

HERE = "tests.training.test_objects"
SMALL: dict[str, Any] = {
    "training": {"epochs": 1, "batches_per_epoch": 3, "batch_size": 16},
    "head": {"name": "linear", "embedding_dim": 8},
    "quiet": True,
}


class Spread(nn.Module):
    """A loss without classes."""

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        return self.weight * embeddings.std(0).sum()


class Net(nn.Sequential):
    """A plain network for images of any size."""

    def __init__(self, width: int = 12) -> None:
        super().__init__(nn.Conv2d(1, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Rows(Dataset[tuple[Any, int]]):
    """Pictures that differ in size."""

    def __init__(self, sizes: tuple[int, ...] = (16, 20)) -> None:
        self.sizes = sizes

    def __len__(self) -> int:
        return 96

    def __getitem__(self, row: int) -> tuple[Any, int]:
        side = self.sizes[row % len(self.sizes)]
        return Image.fromarray(np.full((side, side, 3), row * 2, np.uint8)), row // 8


def make_net(width: int = 4) -> nn.Module:
    return Net(width)


def unsaid_net(width: int = 4):  # type: ignore[no-untyped-def]
    return Net(width)


def pull(embeddings: Tensor, labels: Tensor, weight: float = 1.0) -> Tensor:
    """A function that is a loss."""
    return weight * embeddings.square().mean()


def first_triplets(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A function that is a miner."""
    rows = torch.arange(4)
    return rows, rows + 1, rows + 8


def random_batches(labels: Tensor, batch_size: int) -> BatchSampler:
    return BatchSampler(RandomSampler(range(len(labels))), batch_size, drop_last=False)


def halved(image: Image.Image) -> Tensor:
    """A transform that draws from numpy's global stream."""
    return torch.from_numpy(np.asarray(image)[None] / np.float32(255)) * (0.5 + np.random.rand() / 100)  # noqa: NPY002


def spec_of(words: list[str]) -> RunSpec:
    """Return the tiny spec without settings that an outside trunk or head does not have."""
    said = tiny_words("training.epochs=1", *words)
    gone = {"trunk": "trunk.widths=", "head": "head.embedding_dim="}
    for part in {word.partition("=")[0] for word in said} & set(gone):
        said = [word for word in said if not word.startswith(gone[part])]
    return load_run(overrides=parse_overrides(said))


@pytest.mark.parametrize(
    "words",
    [
        [f"trunk={HERE}:Net", "trunk.width=6"],
        [f"trunk={HERE}:make_net", "trunk.width=6", "optimiser=torch.optim:NAdam", "optimiser.betas=[0.8, 0.9]"],
        ["head=torch.nn:Linear", "head.out_features=5"],
        [f"loss={HERE}:pull", "loss.weight=0.5", f"sampler={HERE}:random_batches"],
        ["loss=triplet", f"miner={HERE}:first_triplets", f"transform={HERE}:halved"],
        ["loss=pytorch_metric_learning.losses:ArcFaceLoss", "loss.margin=20"],
        ["loss=pytorch_metric_learning.losses:TripletMarginLoss", "miner=distance_weighted"],
        ["miner=pytorch_metric_learning.miners:DistanceWeightedMiner", "loss=triplet"],
        ["loss=tests.training.ill_losses:OneSidedLoss"],
        [f"loss={HERE}:Spread", "loss.weight=0.5", "sampler=torch.utils.data:RandomSampler"],
        ["transform=torchvision.transforms.v2:RandomCrop", "transform.size=12"],
    ],
    ids=lambda words: words[0],
)
def test_a_plain_part_by_dotted_path_trains_and_repeats(words: list[str], tmp_path: Path) -> None:
    spec = spec_of(words)
    record = run(spec, home=tmp_path / "a")
    assert record.state == "done"
    assert run(spec, home=tmp_path / "b").digits() == record.digits()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([f"trunk={HERE}:unsaid_net"], "must be fairground's Trunk or torch's Module, and a function says so by its"),
        (["loss=shutil:rmtree", "loss.path=nowhere"], "loss=shutil:rmtree is not a loss"),
        (["loss=subprocess:run"], "loss=subprocess:run is not a loss"),
        (["optimiser=torch.optim:NAdam", "optimiser.beta=1"], "no setting 'optimiser.beta'. Did you mean 'betas'?"),
        (["loss=pytorch_metric_learning.losses:CircleLoss", "loss.gama=3"], "'loss.gama'. Did you mean 'gamma'?"),
        (["optimiser=subprocess:Popen"], "is not an optimiser: it must be torch's Optimizer"),
        (["trunk=torch.nn:Linear", "trunk.in_features=9", "trunk.out_features=2"], "trunk Linear gave no feature"),
        (["head=torch.nn:Unflatten", "head.dim=1", "head.unflattened_size=[2, 2]"], "head Unflatten must turn"),
        (["loss=object:Spread_0123456789ab"], "was an object of another Python process"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_what_is_not_a_part_is_refused_before_it_runs(words: list[str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        run(spec_of(words), home=tmp_path)
    assert sentence in str(refusal.value)


def test_objects_make_one_run_that_the_same_objects_find_again(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    images, labels = torch.rand(96, 1, 12, 12, generator=generator), torch.arange(96) // 8
    torch.manual_seed(0)
    net, events = Net(), []

    def train(**changes: Any) -> Any:
        parts = {"data": TensorDataset(images, labels), "trunk": net, "loss": Spread(0.1), **SMALL, **changes}
        return fg.train("laptop", home=tmp_path, callbacks=[events.append], **parts)

    before = {name: weight.clone() for name, weight in net.state_dict().items()}
    first = train()
    assert [type(event) for event in events if isinstance(event, BatchTrained | EpochEnded)][-1] is EpochEnded
    assert all(torch.equal(weight, before[name]) for name, weight in net.state_dict().items())
    assert first.record.spec["loss"]["name"].startswith("object:Spread_")
    assert "the same call of fg.train finds and resumes this run" in " ".join(first.record.notes)
    again = train(data=(images.numpy(), labels.numpy()), loss=Spread(0.1))
    assert again.name != first.name  # the name says what kind of object it was
    assert not train(loss=Spread(0.1)).is_new
    assert train(loss=Spread(0.2)).name != first.name
    own = train(loss=fg.losses.TripletLoss, sampler=random_batches, trunk=lambda channels: Net(channels + 3))
    assert own.record.spec["loss"]["name"] == "triplet"
    assert own.record.spec["sampler"]["name"] == f"{HERE}:random_batches"


def test_an_object_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    loss = Spread()
    loss.stream = torch.Generator()  # type: ignore[assignment]
    assert name_of_object("loss", loss) != name_of_object("loss", loss)
    found = fg.train(data=(np.random.default_rng(0).random((96, 6)), np.arange(96) // 8), loss=loss, home=tmp_path,
                     trunk=partial(nn.Linear, 6, 5), transform="plain", **SMALL)  # fmt: skip
    assert "cannot be shared or resumed elsewhere" in " ".join(found.record.notes)


def test_the_digest_sees_weights_settings_closures_and_helpers() -> None:
    def scaled(by: float) -> Any:
        return lambda embeddings, labels: by * embeddings.sum()

    torch.manual_seed(0)
    net = Net()
    digests = {digest_of(thing) for thing in (Spread(), Spread(2.0), scaled(1.0), scaled(2.0), net, Net())}
    assert len(digests) == 6
    assert digest_of(scaled(2.0)) in digests
    with torch.no_grad():
        net[0].weight[0, 0, 0, 0] += 1e-6
    assert digest_of(net) not in digests


@pytest.mark.parametrize("kind", ["paths", "pictures", "hugging face", "folder"])
def test_one_picture_is_the_same_from_every_kind_of_data(kind: str, tmp_path: Path) -> None:
    rows = Rows((16,)) if kind == "paths" else Rows()
    paths = []
    for row in range(len(rows)):
        paths.append(tmp_path / f"{row:03}.png")
        rows[row][0].save(paths[-1])
    labels = [rows[row][1] for row in range(len(rows))]
    names = [f"class {label}" for label in range(12)]
    given: dict[str, Any] = {"paths": (paths, labels), "pictures": rows}
    given |= {"hugging face": _Table(rows, names), "folder": _Folder(paths, rows, names)}
    table = ObjectDataset(given[kind]).load()
    assert table.labels.tolist() == labels
    assert table.class_names == tuple(names if kind in ("hugging face", "folder") else map(str, range(12)))
    for row in (0, 5, 95):
        side = rows[row][0].width
        assert table.images.sizes(np.array([row])).tolist() == [[side, side]]
        assert table.images.take(np.array([row])).unique().tolist() == [row * 2]
        crop = table.images.crops(np.array([row]), np.array([[1, 1, 9, 9]]), 8)
        assert crop.shape == (1, 3, 8, 8)
        assert crop.unique().tolist() == [row * 2]


class _Folder(Rows):
    """What a folder of torchvision shows of itself."""

    def __init__(self, paths: list[Path], rows: Rows, names: list[str]) -> None:
        super().__init__(rows.sizes)
        self.samples = [(str(path), rows[row][1]) for row, path in enumerate(paths)]
        self.classes, self.transform, self.target_transform = names, None, None


class _Table:
    """What a data set of Hugging Face shows of itself."""

    def __init__(self, rows: Rows, names: list[str]) -> None:
        self._rows, self.column_names = rows, ["img", "label"]
        self.features = {"label": SimpleNamespace(names=names)}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: int | str) -> Any:
        if key == "label":
            return [self._rows[row][1] for row in range(len(self))]
        return dict(zip(self.column_names, self._rows[int(key)], strict=True))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ((np.zeros((3, 8, 8), np.uint8), [0, 1]), "3 images but 2 labels"),
        ((np.full((3, 1, 8, 8), 2.0), [0, 1, 2]), "images in floats must be between 0 and 1"),
        ((np.zeros((3, 4)), [0.5, 1, 2]), "labels must be 3 whole numbers or words"),
        (iter([1]), "data must be a name, or a data set of items"),
        (SimpleNamespace(dataset=1), "of a DataLoader, pass its .dataset"),
    ],
)
def test_data_that_cannot_be_used_is_refused(data: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ObjectDataset(data)


def test_random_data_is_refused() -> None:
    class Noise(Rows):
        def __getitem__(self, row: int) -> tuple[Any, int]:
            return np.random.default_rng().random((8, 8)), row // 8

    with pytest.raises(ValueError, match="two different images for item 0"):
        ObjectDataset(Noise())


def test_a_pair_of_transforms_trains_and_evaluates(tmp_path: Path) -> None:
    seen = []

    def change(name: str, image: Image.Image) -> Image.Image:
        seen.append((name, image.size))
        return image.convert("L").resize((12, 12))

    pair = (partial(change, "train"), partial(change, "test"))
    found = fg.train(data=Rows(), trunk=Net, transform=pair, loss="contrastive", home=tmp_path, **SMALL)
    assert found.state == "done"
    assert set(seen) == {(name, (side, side)) for name in ("train", "test") for side in (16, 20)}


def test_an_outside_loss_gives_what_it_gives_by_itself() -> None:
    embeddings, labels = torch.randn(12, 4), torch.arange(12) // 3
    ours = ExternalLoss(module=pml_losses.ContrastiveLoss())(embeddings, labels)
    assert torch.allclose(ours, fg.losses.ContrastiveLoss()(embeddings, labels))
