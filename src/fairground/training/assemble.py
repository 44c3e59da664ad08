"""From a RunSpec to live objects: everything of one run, built and checked.

Everything a user can get wrong is refused here or before, so that nothing starts that cannot finish.
"""

import inspect
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from fairground import contracts, evaluation, training
from fairground.contracts import Dataset, Images, ImageTable, Loss, Miner, SplitRows, Transform
from fairground.records import ImagesPrepared, KnownBug, Listener, PretrainedWeights
from fairground.records.changed_code_and_data import Content, content_of, fingerprint_of
from fairground.retrieval import Poincare
from fairground.spec import OBJECTS, DataError, InputError, Purpose, canonical_json, child_seed, find, nearest, require
from fairground.spec.run_spec import ROOM_OF, ComponentSpec, RunSpec, TrainingSpec
from fairground.training import Loader, ProcessGroup, Stepper, device_named, half_of, require_chunks_alone
from fairground.training.embedding_model import EmbeddingModel, InputProfile, n_frozen_stages
from fairground.training.optimiser import build_optimiser, require_weights

#: what pytorch-metric-learning, torch and timm call the arguments that we supply
_SUPPLIED_ALIASES = {
    "num_classes": "n_classes",
    "embedding_size": "embedding_dim",
    "in_features": "n_features",
    "in_channels": "channels",
    "in_chans": "channels",
    "data_source": "labels",
}
#: what an outside class must be to be used as a part; the first kind is our own
_KINDS: Mapping[str, tuple[str, *tuple[type, ...]]] = {
    "data": ("Dataset", torch.utils.data.Dataset),
    "split": ("Split",),
    "transform": ("Transform", nn.Module),
    "trunk": ("Trunk", nn.Module),
    "head": ("Head", nn.Module),
    "loss": ("Loss", nn.Module),
    "miner": ("Miner", nn.Module),
    "regulariser": ("Regulariser",),
    "sampler": ("BatchSampler", torch.utils.data.Sampler),
}
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
#: tables kept at once: the runs of a study that one process makes go from one data set to the next
_TABLES_KEPT = 2
_tables: "dict[Hashable, LoadedTable]" = {}


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """A run's live objects. Only through `SealedRows` may anything look at `split.test`."""

    spec: RunSpec
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
    content: Content

    @property
    def model(self) -> EmbeddingModel:
        return self.stepper.model

    @property
    def on_sphere(self) -> bool:
        """Whether embeddings are evaluated at unit length: as asked, else as the loss compares them."""
        asked = self.spec.evaluation.normalise
        return self.stepper.loss.on_sphere if asked is None else asked

    @property
    def distance(self) -> "evaluation.Distance | Poincare":
        """How embeddings are compared; at unit length every distance has the order of the Euclidean one."""
        if self.spec.evaluation.distance == "euclidean" or self.on_sphere:
            return "euclidean"
        given: Mapping[str, Any] = self.spec.loss.settings
        return Poincare(**{key: given[key] for key in Poincare._fields if key in given})

    def prepare_images(self, listen: Listener) -> None:
        self.table.images.prepare(lambda done, total: listen(ImagesPrepared(n_done=done, n_images=total)))

    def shared_by(self, group: ProcessGroup) -> "Assembled":
        is_whole = not self.stepper.in_chunks and self.spec.optimiser.frozen_trunk_epochs == 0
        self.loader.transform = group.share(self.model, self.transform, is_whole=is_whole)
        return replace(self, stepper=replace(self.stepper, group=group), notes=(*self.notes, *group.notes))

    def profile(self) -> InputProfile:
        prints = (self.data_fingerprint, self.split_fingerprint)
        return profile_of(self.table, self.split.train, self.model, *prints, is_normalised=self.on_sphere)


def profile_of(
    table: ImageTable, rows: np.ndarray, model: EmbeddingModel, data: str, split: str, *, is_normalised: bool
) -> InputProfile:
    """Return what a network trained on `rows` takes; `data` and `split` are the fingerprints of both."""
    images = table.images
    # A few hundred are enough to see whether all have one size.
    sizes = images.sizes(rows[:512]) if images.is_picture else np.zeros((0, 2))
    is_one_size = len(sizes) > 0 and bool((sizes == sizes[0]).all())
    return InputProfile(
        is_picture=images.is_picture,
        channels=images.channels,
        size=(int(sizes[0, 0]), int(sizes[0, 1])) if is_one_size else None,
        classes=tuple(table.class_names[label] for label in np.unique(table.labels[rows])),
        embedding_dim=model.head.embedding_dim,
        is_normalised=is_normalised,
        preprocessing=model.trunk.preprocessing,
        data_fingerprint=data,
        split_fingerprint=split,
    )


def assemble(spec: RunSpec, *, device: torch.device | None = None) -> Assembled:
    device = device or device_named()
    table, data_fingerprint = load_table(spec.data)
    split = build("split", spec.split).parts(table)
    require_classes(spec, table, split)
    # An image of several labels is drawn by each of them: a class of the sampler is all images that have a label.
    drawn, by_label = table.label_rows(split.train)
    _, classes = np.unique(by_label, return_inverse=True)
    labels = torch.from_numpy(classes.astype(np.int64))
    model, transform = build_network(spec, table.images, split.train, device)
    loss = build_loss(spec, model.head, table, split.train).to(device)
    half, chunk = half_of(spec.training.precision, device), spec.training.gradient_chunk
    stepper = build_stepper(
        spec,
        model,
        loss,
        in_chunks=chunk > 0,
        clip_norm=spec.optimiser.clip_norm,
        average=training.WeightAverage(model, spec.optimiser.average) if spec.optimiser.average else None,
        scaler=torch.amp.GradScaler(device.type, enabled=half == torch.float16),
    )
    supers = None if table.super_labels is None else torch.from_numpy(table.super_labels[drawn])
    supplied = {"labels": labels, "batch_size": spec.training.batch_size, "super_labels": supers}
    loader = build_loader(spec, table.images, drawn, transform, supplied, device=device, chunk=chunk)
    if table.label_sets is not None:
        loader.labels = torch.from_numpy(table.label_sets[drawn]).long()
    sampler = loader.sampler
    if chunk:
        require_chunks_alone(model.train())
        mixes = stepper.regulariser is not None and stepper.regulariser.mixes
        require(not mixes, "training.gradient_chunk cuts a batch into chunks, but the regulariser mixes across it")
    require_weights(spec, model, loss)
    switchable = {"loss": loss, "miner": stepper.miner, "regulariser": stepper.regulariser, "sampler": sampler}
    bugs = tuple(
        KnownBug(component=f"{key}.{getattr(spec, key).name}", sentence=sentence)
        for key, part in switchable.items()
        if part is not None
        for sentence in part.known_bugs()
    )
    automatic = [f"training.precision=auto: {half or torch.float32}".replace("torch.", "")]
    prints = _data_content(data_fingerprint, split)
    digest = model.trunk.weights_fingerprint
    weights = PretrainedWeights(name=str(spec.trunk.settings.get("weights", "")), hash=digest) if digest else None
    return Assembled(
        spec=spec,
        table=table,
        split=split,
        transform=transform,
        loader=loader,
        stepper=stepper,
        n_batches=spec.training.batches_per_epoch or sampler.n_batches,
        data_fingerprint=data_fingerprint,
        split_fingerprint=prints["split fingerprint"],
        notes=(
            *table.notes,
            *([f"pretrained weights: {digest}"] if digest else []),
            *split.notes(table.labels),
            *sampler.notes(),
            *(training.object_notes(spec) if OBJECTS else ()),
            *(automatic if spec.training.precision == "auto" else []),
            *(f"known bug switched on: {bug.sentence}" for bug in bugs),
        ),
        known_bugs=bugs,
        weights=weights,
        device=device,
        content=content_of(spec, lambda: prints),
    )


def require_classes(spec: RunSpec, table: ImageTable, split: SplitRows) -> None:
    asked = spec.evaluation
    if asked.relevance == "levels":
        require(table.levels() is not None, "evaluation.relevance=levels needs super-classes; the data set has none")
    is_set_rule = asked.relevance not in ("label", "levels")
    refusal = f"evaluation.relevance={asked.relevance} needs several labels per row (red|round); the data have one"
    require(not is_set_rule or table.label_sets is not None, refusal)
    if table.label_sets is not None:
        require_label_sets(spec)
    complaint = "has no validation classes, so checkpoints could only be selected on the test split"
    advice = "set split.validation, or evaluation.select_on=test (tables will be flagged)"
    is_judged = len(split.validation) > 0 or asked.select_on == "test"
    require(is_judged, f"split {spec.split.name} {complaint}; {advice}")
    if table.is_query is None and asked.lone != "zero":
        for name, rows in (("validation", split.validation), ("test", split.test if asked.test else split.test[:0])):
            complaint = f"no class of the {name} split has two images, so there is nothing to search for"
            advice = "give classes two images at least (`fairground data check` counts them)"
            has_pair = len(rows) == 0 or int(np.bincount(table.labels[rows]).max()) >= 2
            require(has_pair, f"{complaint}; {advice}", DataError)


def require_label_sets(spec: RunSpec) -> None:
    """Refuse losses, regularisers and metrics that need one class per row."""
    kind, own = find("losses", spec.loss.name), "the rows of the data have several labels"
    some = "try contrastive, multi_similarity, triplet or sup_con"
    refusal = f"loss {spec.loss.name} takes one label per row, and {own}; {some}"
    require(getattr(kind, "takes_label_sets", False), refusal)
    if spec.regulariser is not None:
        changes = getattr(find("regularisers", spec.regulariser.name), "changes_tuples", False)
        require(not changes, f"regulariser {spec.regulariser.name} takes one label per row, and {own}; set it to none")
    for word in spec.evaluation.metrics if spec.evaluation.relevance != "levels" else ():
        is_right = isinstance(evaluation.metric_named(word), contracts.RankingMetric | contracts.VerificationMetric)
        require(is_right, f"metric {word} takes one label per row, and {own}")


def build_network(
    spec: RunSpec, images: Images, rows: np.ndarray, device: torch.device
) -> tuple[EmbeddingModel, Transform]:
    """Return a run's model and transform, or refuse a transform whose images the trunk cannot take."""
    model = build_model(spec.trunk, spec.head, spec.training, channels=images.channels, seed=spec.seed).to(device)
    transform: Transform = build("transform", spec.transform, {"preprocessing": model.trunk.preprocessing})
    resized = spec.transform.settings.get("shorter_side")
    if isinstance(resized, int):
        images.require_side(resized)
    side, made = model.trunk.input_side, getattr(transform, "side", None)
    network = spec.trunk.settings.get("model", spec.trunk.name)
    complaint = f"takes images of {side} x {side} pixels, and transform {spec.transform.name} makes {made} x {made}"
    advice = f"set transform.side={side}, or trunk.image_size to a size that fits"
    require(side is None or made is None or side == made, f"trunk {network} {complaint}: {advice}")
    if not images.is_slow:
        # Files have three channels, which every trunk takes, and reading one may prepare them all.
        image = transform.evaluate(images, rows[:1], device)
        model.eval()
        try:
            with torch.inference_mode():
                for stage in model.trunk.stages[:1]:
                    stage(image)
        except RuntimeError as failure:
            size = " x ".join(map(str, image.shape[1:]))
            raise InputError(
                f"trunk {spec.trunk.name} cannot take what transform {spec.transform.name} makes of an image: {size} "
                f"numbers, where the data have {images.channels} per pixel. Small gray images go together with "
                "transform=small_images, or with a trunk for photographs such as efficientnet_lite0"
            ) from failure
        model.train()
    return model, transform


def build_model(
    trunk: ComponentSpec, head: ComponentSpec, training: TrainingSpec, *, channels: int, seed: int = 0
) -> EmbeddingModel:
    with seeded(seed, "init_trunk"):
        body = build("trunk", trunk, {"channels": channels})
    with seeded(seed, "init_head"):
        top = build("head", head, {"n_features": body.n_features})
    model = EmbeddingModel(
        trunk=body,
        head=top,
        freeze_batch_norm=training.freeze_batch_norm,
        precision=training.precision,
        n_frozen=n_frozen_stages(training.trainable, body, trunk.name),
    )
    if training.compile:
        # In place: the names of the weights, and with them checkpoints, stay what they are.
        model.trunk.compile()
    return model


def build_loss(spec: RunSpec, head: "contracts.Head", table: ImageTable, rows: np.ndarray) -> Loss:
    """Return the loss of a spec, with its first weights, on what a head makes of some rows of a table."""
    classes, first = np.unique(table.labels[rows], return_index=True)
    supplied: dict[str, object] = {"n_classes": len(classes), "embedding_dim": head.embedding_dim}
    supplied |= {"branches": head.branch_dims, "levels": None}
    takes = inspect.signature(find("losses", spec.loss.name)).parameters if ":" not in spec.loss.name else {}
    refusal = (
        f"head {spec.head.name} gives the embeddings of its branches too, which loss {spec.loss.name} does not take"
    )
    require(not head.branch_dims or "branches" in takes, f"{refusal}; set loss=self_distillation, or another head")
    levels = table.levels() if "levels" in takes else None
    if levels is not None:
        supplied["levels"] = torch.from_numpy(levels[rows[first]])
    with seeded(spec.seed, "init_loss"):
        return build("loss", spec.loss, supplied)


def build_miner(spec: RunSpec, loss: Loss) -> Miner | None:
    if spec.miner is None:
        return None
    require(len(loss.accepts) > 0, f"loss {spec.loss.name} looks at the whole batch and takes no miner; set miner=none")
    found: Miner = build("miner", spec.miner)
    if hasattr(found, "yields"):  # one from outside does not say
        gives, takes = found.yields.__name__.lower(), " or ".join(kind.__name__.lower() for kind in loss.accepts)
        refusal = f"miner {spec.miner.name} gives {gives}, but loss {spec.loss.name} takes {takes}"
        require(issubclass(found.yields, loss.accepts), refusal)
    return found


def build_regulariser(spec: RunSpec, loss: Loss, miner: Miner | None) -> "contracts.Regulariser | None":
    if spec.regulariser is None:
        return None
    found: contracts.Regulariser = build("regulariser", spec.regulariser)
    refusal = f"regulariser {spec.regulariser.name} changes mined tuples, so it needs a miner"
    require(miner is not None or not found.changes_tuples, f"{refusal}; try miner=distance_weighted")
    found.check_loss(loss)
    refusal = "training.trainable=head trains no stage of the trunk, but the regulariser mixes samples before one"
    is_possible = spec.training.trainable != "head" or not found.mixes
    require(is_possible, f"{refusal}; set last:N, or regulariser=none")
    return found


def build_stepper(spec: RunSpec, model: EmbeddingModel, loss: Loss, **settings: Any) -> Stepper:
    miner = build_miner(spec, loss)
    return Stepper(
        model=model,
        loss=loss,
        miner=miner,
        regulariser=build_regulariser(spec, loss, miner),
        optimiser=build_optimiser(spec.optimiser, model, loss),
        generator=_generator(spec.seed, "miner"),
        **settings,
    )


def build_loader(
    spec: RunSpec, images: Images, rows: np.ndarray, transform: Transform, supplied: Mapping[str, Any], **settings: Any
) -> Loader:
    """Return the batches of some rows; `supplied` are their labels and the size of a batch, for the sampler."""
    return Loader(
        images=images,
        rows=rows,
        labels=supplied["labels"],
        transform=transform,
        sampler=build("sampler", spec.sampler, supplied),
        # All draws are the CPU's: a seed gives the same batches, crops and tuples on every device.
        sampling=_generator(spec.seed, "sampler"),
        augmenting=_generator(spec.seed, "augment"),
        **settings,
    )


def start_head(parts: Assembled) -> None:
    """Fit a head that starts from the data to the trunk's features of the training split."""
    head, rows = parts.model.head, parts.split.train
    if not head.needs_features:
        return
    blocks = evaluation.embed_blocks(parts.model.trunk, parts.table.images, rows, parts.transform, device=parts.device)
    if head.needs_labels:
        head.fit_classes(blocks, torch.from_numpy(parts.table.labels[rows]))
    else:
        head.fit(blocks)


def _generator(seed: int, purpose: Purpose) -> torch.Generator:
    return torch.Generator().manual_seed(child_seed(seed, purpose))


@contextmanager
def seeded(seed: int, purpose: Purpose) -> Iterator[None]:
    """First weights come from torch's global stream: start it for one purpose, and put the old one back."""
    with torch.random.fork_rng(devices=[]):
        # Not those of devices, which are the caller's: weights are made on the CPU.
        torch.default_generator.manual_seed(child_seed(seed, purpose))
        yield


def build(key: str, part: ComponentSpec, supplied: Mapping[str, object] | None = None) -> Any:
    """Construct a component: its settings from the spec, what it needs to know of the run from `supplied`."""
    supplied, found, (ours, *theirs) = supplied or {}, find(ROOM_OF[key], part.name), _KINDS[key]
    kinds = (getattr(contracts, ours), *theirs)

    def as_ours(made: Any) -> Any:
        return made if isinstance(made, kinds[0]) else training.as_part(key, part.name, made, supplied)

    is_class, is_ours = inspect.isclass(found), ":" not in part.name
    if not (is_class or inspect.isroutine(found) or isinstance(found, partial)):
        require(not part.settings, f"{key}={part.name} is an object, so it has no settings; set them where it is made")
        return as_ours(found if key == "data" else training.copied(found))
    signature = inspect.signature(found)
    named = {name: one for name, one in signature.parameters.items() if one.kind not in _VARIABLE}
    takes_any = not is_class and len(named) < len(signature.parameters)
    for setting in part.settings:
        advice = f"{nearest(setting, named)} ({part.name} takes {', '.join(named)}.)"
        require(setting in named or takes_any, f"no setting '{key}.{setting}'.{advice}")
    called = {name: _SUPPLIED_ALIASES.get(name, name) for name in named}
    known = {name: supplied[ours] for name, ours in called.items() if ours in supplied}
    clash = sorted(set(known) & set(part.settings))
    require(not clash, f"{key}.{', '.join(clash)} follows from the data and cannot be set")
    needed = {name for name, one in named.items() if one.default is one.empty}
    if not is_class and not needed <= {*known, *part.settings}:
        return as_ours(partial(found, **part.settings) if part.settings else found)
    # A config may name what makes a part, never run anything else: subprocess:Popen must not be a loss.
    made_kind = found if is_class else signature.return_annotation
    is_part = is_ours or part.name in OBJECTS or (inspect.isclass(made_kind) and issubclass(made_kind, kinds))
    wanted = " or ".join(f"{kind.__module__.partition('.')[0]}'s {kind.__name__}" for kind in kinds)
    advice = "" if is_class else ", and a function says so by its annotation (-> torch.nn.Module)"
    require(is_part, f"{key}={part.name} is not a {key}: it must be {wanted}{advice}")
    try:
        made = found(**known, **part.settings)
    except TypeError as error:
        if is_ours:
            raise
        raise InputError(f"{part.name} cannot be made with these settings: {error}") from error
    return as_ours(made)


class LoadedTable(NamedTuple):
    """A table and a hash that changes when any of its images, labels or class names does."""

    table: ImageTable
    fingerprint: str


def load_table(part: ComponentSpec) -> LoadedTable:
    """Return a data set's table, without loading it again where its version says that it would be the same."""
    dataset: Dataset = build("data", part)
    version = dataset.version()
    key = (part.name, canonical_json(part.settings), version)
    found = _tables.pop(key, None)
    if found is None:
        table = dataset.load()
        names = ("super_labels", "wider_labels", "label_sets", "is_query", "is_gallery", "groups")
        columns = {name: getattr(table, name) for name in names}
        known = [thing for item in columns.items() if item[1] is not None for thing in item]
        content = (table.images.fingerprint(), table.labels, table.class_names, *known)
        found = LoadedTable(table, fingerprint_of(*content))
    if version is not None:
        _tables[key] = found
        if len(_tables) > _TABLES_KEPT:
            del _tables[next(iter(_tables))]
    return found


def content_of_data(spec: RunSpec) -> Content:
    table, fingerprint = load_table(spec.data)
    return _data_content(fingerprint, build("split", spec.split).parts(table))


def _data_content(fingerprint: str, split: SplitRows) -> Content:
    rows = fingerprint_of("split", split.train, split.validation, split.test)
    return {"data fingerprint": fingerprint, "split fingerprint": rows}
