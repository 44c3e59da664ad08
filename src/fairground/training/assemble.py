"""From a RunSpec to live objects: everything of one run, built and checked.

Everything a user can get wrong is refused here or before, so that nothing starts that cannot finish: settings a
constructor does not take, a miner the loss cannot use, classes in two splits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from fairground.contracts.loss import Loss
from fairground.contracts.miner import Miner
from fairground.contracts.model import Transform
from fairground.contracts.regulariser import Regulariser
from fairground.contracts.sampler import BatchSampler
from fairground.contracts.split import SplitRows
from fairground.contracts.table import ImageTable
from fairground.errors import DataError, InputError, require
from fairground.records.record import KnownBug, PretrainedWeights
from fairground.spec.identity import Purpose, child_seed
from fairground.spec.run import ComponentSpec, EvaluationSpec, RunSpec, TrainingSpec
from fairground.training.build import build, build_split, seeded
from fairground.training.external import ExternalLoss, ExternalMiner
from fairground.training.frozen_stages import n_frozen_stages, require_stage_to_mix
from fairground.training.gradient_cache import require_chunks_alone
from fairground.training.loaded_data import fingerprint_of, load_table
from fairground.training.loader import Loader
from fairground.training.model import EmbeddingModel
from fairground.training.optimiser import build_optimiser, require_weights
from fairground.training.step import Stepper
from fairground.training.weight_average import WeightAverage


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """A run's live objects. Only `seal` of training/run.py may look at `split.test`."""

    table: ImageTable
    split: SplitRows
    transform: Transform
    loader: Loader
    stepper: Stepper
    n_batches: int
    data_fingerprint: str
    split_fingerprint: str
    notes: tuple[str, ...]
    known_bugs: tuple[KnownBug, ...]
    weights: PretrainedWeights | None
    device: torch.device

    @property
    def model(self) -> EmbeddingModel:
        """The model under training."""
        return self.stepper.model

    def on_sphere(self, evaluation: EvaluationSpec) -> bool:
        """Tell whether embeddings are judged at unit length: as asked, else as the loss compares them."""
        return self.stepper.loss.on_sphere if evaluation.normalise is None else evaluation.normalise


def assemble(spec: RunSpec, *, device: torch.device | None = None) -> Assembled:
    """Return the live objects of a run, or refuse in a sentence."""
    device = device or best_device()
    table, data_fingerprint = load_table(spec.data)
    split = build_split(spec.split).parts(table)
    require(
        len(split.validation) > 0 or spec.evaluation.select_on == "test",
        f"split {spec.split.name} holds nothing out for validation, so nothing could select but the test split; "
        "hold some classes out, or say evaluation.select_on=test and have every table say so",
    )
    _require_pairs(spec, table, split)
    classes, train_labels = np.unique(table.labels[split.train], return_inverse=True)
    labels = torch.from_numpy(train_labels.astype(np.int64))
    model = build_model(spec.trunk, spec.head, spec.training, channels=table.images.channels, seed=spec.seed).to(device)
    supplied = {"n_classes": len(classes), "embedding_dim": model.head.embedding_dim}
    loss = build_loss(spec, supplied).to(device)
    miner = build_miner(spec, loss)
    regulariser = build_regulariser(spec, loss, miner)
    supers = None if table.super_labels is None else torch.from_numpy(table.super_labels[split.train])
    sampler_arguments = {"labels": labels, "batch_size": spec.training.batch_size, "super_labels": supers}
    sampler = build("sampler", spec.sampler, sampler_arguments)
    transform = build_transform(spec.transform, model)
    resized = spec.transform.settings.get("shorter_side")
    if isinstance(resized, int):
        table.images.require_side(resized)
    _require_fit(spec, model, transform, table, split.train[:1])
    _check_chunks(spec, model, regulariser)
    require_weights(spec, model, loss)
    stepper = Stepper(
        model=model,
        loss=loss,
        miner=miner,
        regulariser=regulariser,
        optimiser=build_optimiser(spec.optimiser, model, loss),
        generator=_generator(spec.seed, "miner", device),
        in_chunks=spec.training.gradient_chunk > 0,
        clip_norm=spec.optimiser.clip_norm,
        average=WeightAverage(model, spec.optimiser.average) if spec.optimiser.average else None,
    )
    bugs = _known_bugs(spec, {"loss": loss, "miner": miner, "regulariser": regulariser, "sampler": sampler})
    weights = _weights(spec, model)
    return Assembled(
        table=table,
        split=split,
        transform=transform,
        loader=Loader(
            images=table.images,
            rows=split.train,
            labels=labels,
            transform=transform,
            sampler=sampler,
            device=device,
            sampling=_generator(spec.seed, "sampler", device),
            augmenting=_generator(spec.seed, "augment", device),
            chunk=spec.training.gradient_chunk,
        ),
        stepper=stepper,
        n_batches=spec.training.batches_per_epoch or sampler.n_batches,
        data_fingerprint=data_fingerprint,
        split_fingerprint=fingerprint_of("split", split.train, split.validation, split.test),
        notes=(
            *table.notes,
            *([f"pretrained weights: {weights.hash}"] if weights else []),
            *split.notes(table.labels),
            *sampler.notes(),
            *(f"known bug switched on: {bug.sentence}" for bug in bugs),
        ),
        known_bugs=bugs,
        weights=weights,
        device=device,
    )


def _known_bugs(
    spec: RunSpec, parts: Mapping[str, Loss | Miner | Regulariser | BatchSampler | None]
) -> tuple[KnownBug, ...]:
    """Return the published bugs that some part was asked to reproduce."""
    return tuple(
        KnownBug(component=f"{key}.{getattr(spec, key).name}", sentence=sentence)
        for key, part in parts.items()
        if part is not None
        for sentence in part.known_bugs()
    )


def _weights(spec: RunSpec, model: EmbeddingModel) -> PretrainedWeights | None:
    found = model.trunk.weights_fingerprint
    return PretrainedWeights(name=str(spec.trunk.settings.get("weights", "")), hash=found) if found else None


def _require_pairs(spec: RunSpec, table: ImageTable, split: SplitRows) -> None:
    """Refuse before training what could not be measured after it: splits in which no class has two images."""
    if table.is_query is not None or spec.evaluation.lone == "zero":
        return
    for name, rows in (
        ("validation", split.validation),
        ("test", split.test if spec.evaluation.test else split.test[:0]),
    ):
        require(
            len(rows) == 0 or int(np.bincount(table.labels[rows]).max()) >= 2,
            f"no class of the {name} split has two images, so there is nothing to search for; give classes two images "
            "at least (`fairground data check` counts them)",
            DataError,
        )


def best_device() -> torch.device:
    """Return the machine's accelerator where it has one, otherwise its processor."""
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def build_model(
    trunk: ComponentSpec, head: ComponentSpec, training: TrainingSpec, *, channels: int, seed: int = 0
) -> EmbeddingModel:
    """Return a model by the names of its parts, with first weights."""
    with seeded(seed, "init_trunk"):
        body = build("trunk", trunk, {"channels": channels})
    with seeded(seed, "init_head"):
        top = build("head", head, {"n_features": body.n_features})
    model = EmbeddingModel(
        trunk=body,
        head=top,
        freeze_batch_norm=training.freeze_batch_norm,
        is_mixed=training.precision == "mixed",
        n_frozen=n_frozen_stages(training.trainable, body, trunk.name),
    )
    if training.compile:
        # In place: the names of the weights, and with them checkpoints, stay what they are.
        model.trunk.compile()
    return model


def build_transform(part: ComponentSpec, model: EmbeddingModel) -> Transform:
    """Return a transform by name, told what the model's weights expect."""
    found: Transform = build("transform", part, {"preprocessing": model.trunk.preprocessing})
    return found


def _require_fit(
    spec: RunSpec, model: EmbeddingModel, transform: Transform, table: ImageTable, rows: np.ndarray
) -> None:
    """Refuse a transform whose images the trunk cannot take: the first stage is tried on one of them.

    Files are left alone: they give three channels, which every trunk takes, and reading one may prepare them all.
    """
    if table.images.is_slow:
        return
    device = next((weight.device for weight in model.parameters()), None)
    made = transform.evaluate(table.images, rows, device)
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            for stage in model.trunk.stages[:1]:
                stage(made)
    except RuntimeError as failure:
        size = " x ".join(map(str, made.shape[1:]))
        raise InputError(
            f"trunk {spec.trunk.name} cannot take what transform {spec.transform.name} makes of an image: {size} "
            f"numbers, where the data have {table.images.channels} to a pixel. Small gray images go together with "
            "transform=small_images, or with a trunk for photographs such as efficientnet_lite0"
        ) from failure
    finally:
        model.train(was_training)


def build_loss(spec: RunSpec, supplied: Mapping[str, object]) -> Loss:
    """Return the loss of a spec with its first weights; `supplied` says the classes and the width of embeddings."""
    with seeded(spec.seed, "init_loss"):
        loss = build("loss", spec.loss, supplied)
    return loss if isinstance(loss, Loss) else ExternalLoss(module=loss)


def build_miner(spec: RunSpec, loss: Loss) -> Miner | None:
    """Return the miner of a spec, or refuse one whose tuples the loss does not take."""
    if spec.miner is None:
        return None
    require(len(loss.accepts) > 0, f"loss {spec.loss.name} looks at the whole batch and takes no miner; say miner=none")
    found = build("miner", spec.miner, {})
    if not isinstance(found, Miner):
        return ExternalMiner(module=found)
    takes = " or ".join(kind.__name__.lower() for kind in loss.accepts)
    require(
        issubclass(found.yields, loss.accepts),
        f"miner {spec.miner.name} gives {found.yields.__name__.lower()}, but loss {spec.loss.name} takes {takes}",
    )
    return found


def build_regulariser(spec: RunSpec, loss: Loss, miner: Miner | None) -> Regulariser | None:
    """Return the regulariser of a spec, or refuse one that does not suit loss and miner."""
    if spec.regulariser is None:
        return None
    found: Regulariser = build("regulariser", spec.regulariser, {})
    require(
        miner is not None or not found.changes_tuples,
        f"regulariser {spec.regulariser.name} changes mined tuples, so it needs a miner; try miner=distance_weighted",
    )
    found.check_loss(loss)
    require_stage_to_mix(found, spec.training.trainable)
    return found


def _check_chunks(spec: RunSpec, model: EmbeddingModel, regulariser: Regulariser | None) -> None:
    """Refuse to cut a batch into chunks where samples of a batch depend on each other."""
    if spec.training.gradient_chunk:
        require_chunks_alone(model.train())
        mixes = regulariser is not None and regulariser.mixes
        require(not mixes, "training.gradient_chunk cuts a batch into chunks, but the regulariser mixes across it")


def _generator(seed: int, purpose: Purpose, device: torch.device) -> torch.Generator:
    # The sampler plans on the processor; augmentation and mining draw where the images are.
    home = torch.device("cpu") if purpose == "sampler" else device
    return torch.Generator(home).manual_seed(child_seed(seed, purpose))
