"""The one model that is handed over: trained on all seen classes, trunk and head as one network, in a folder."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from fairground import __version__
from fairground.adaptation.adapter import AdaptedModel
from fairground.adaptation.class_folds import ClassFolds
from fairground.adaptation.scores import view_of_rows
from fairground.adaptation.workbench import Workbench
from fairground.deploy.calibration import thresholds_of
from fairground.deploy.metadata import MeasuredScore, ModelMetadata, Threshold
from fairground.deploy.model import UsableModel
from fairground.deploy.model_folder import write_model
from fairground.spec.adaptation import AdaptationSpec
from fairground.training.checkpoint import to_bytes

_LOOKED_AT = 512


def find_thresholds(
    bench: Workbench, spec: AdaptationSpec, folds: ClassFolds, *, most_rows: int
) -> tuple[Threshold, ...]:
    """Return thresholds found on classes of the first fold by the same method trained without them.

    Pairs grow with the square of the rows, so that every second or third row is taken where there are too many.
    """
    fold = next(folds.repeat(0))
    rows = fold.validation[:: max(1, -(-len(fold.validation) // most_rows))]
    adapted = bench.adapter.fit(spec, fold.train)
    return thresholds_of(view_of_rows(bench.table, adapted.embed(rows), rows, normalise=adapted.normalise))


def write_final_model(
    bench: Workbench,
    spec: AdaptationSpec,
    adapted: AdaptedModel,
    folder: Path,
    *,
    name: str,
    scores: Mapping[str, Mapping[str, float]],
    thresholds: Sequence[Threshold],
    notes: Sequence[str],
    rows: np.ndarray,
) -> str:
    """Write the model folder and return the checksum of its weights; `scores` are by split and metric."""
    run, images = spec.run, bench.table.images
    network = bench.adapter.full_model(adapted)
    sizes = images.sizes(rows[:_LOOKED_AT]) if images.is_picture else np.zeros((1, 2), np.int64)
    is_one_size = images.is_picture and bool((sizes == sizes[0]).all())
    metadata = ModelMetadata(
        run=name,
        protocol=f"recommend {run.protocol}",
        fairground=__version__,
        trunk=run.trunk,
        head=run.head,
        transform=run.transform,
        preprocessing=bench.preprocessing,
        precision="full",
        is_picture=images.is_picture,
        channels=images.channels,
        size=(int(sizes[0, 0]), int(sizes[0, 1])) if is_one_size else None,
        embedding_dim=network.head.embedding_dim,
        normalise=adapted.normalise,
        classes=tuple(bench.table.class_names[label] for label in np.unique(bench.table.labels[rows])),
        data=run.data.name,
        split=run.split.name,
        data_fingerprint=images.fingerprint()[:16],
        split_fingerprint=hashlib.sha256(np.sort(rows).tobytes()).hexdigest()[:16],
        weights_sha256="",
        scores=tuple(
            MeasuredScore(metric=metric, split=split, value=value)
            for split, found in scores.items()
            for metric, value in found.items()
        ),
        thresholds=tuple(thresholds),
        notes=tuple(notes),
    )
    model = UsableModel(network=network, transform=bench.transform, metadata=metadata, device=torch.device("cpu"))
    return write_model(model, folder).weights_sha256


def weights_of(bench: Workbench, adapted: AdaptedModel) -> str:
    """Return the checksum that a model folder of this network would have."""
    return hashlib.sha256(to_bytes(bench.adapter.full_model(adapted).state_dict())).hexdigest()
