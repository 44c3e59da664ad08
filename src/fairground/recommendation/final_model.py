"""The model of a recommendation: trained on all seen classes, trunk and head as one network; and made again."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairground import __version__
from fairground.deploy.metadata import MeasuredScore, ModelMetadata, Threshold
from fairground.deploy.model import UsableModel
from fairground.deploy.model_folder import thresholds_of, write_model
from fairground.errors import StoreError, require
from fairground.files import read_json
from fairground.recommendation.cross_validation import ClassFolds
from fairground.spec.adaptation import AdaptationSpec
from fairground.training.adaptation import AdaptedModel, Workbench
from fairground.training.build import torch_threads
from fairground.training.checkpoint import to_bytes
from fairground.training.measure import view_of_rows

#: rows that thresholds are found on at most: pairs grow with their square
MOST_ROWS = 5000
#: images whose sizes are asked
_LOOKED_AT = 512


def find_thresholds(bench: Workbench, spec: AdaptationSpec, folds: ClassFolds) -> tuple[Threshold, ...]:
    """Return thresholds found on the classes of one fold by the same method trained without them."""
    fold = next(folds.repeat(0))
    rows = fold.validation[:: max(1, -(-len(fold.validation) // MOST_ROWS))]
    adapted = bench.fit(spec, fold.train)
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
    note: str,
    rows: np.ndarray,
) -> str:
    """Write the model folder and return the checksum of its weights; `scores` are by split and metric."""
    run, images = spec.run, bench.table.images
    network = bench.full_model(adapted)
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
        notes=(note,),
    )
    model = UsableModel(network=network, transform=bench.transform, metadata=metadata, device=torch.device("cpu"))
    return write_model(model, folder).weights_sha256


def remake_model(plan: Path) -> tuple[str, str]:
    """Train what a plan says; return the checksum of the weights in the plan, and that of those made again."""
    asked: dict[str, Any] = read_json(plan, error=StoreError)
    require(bool(asked.get("rows")), f"{plan}: nothing was trained or measured yet, so there is nothing to repeat")
    spec = AdaptationSpec.from_plain(asked["adaptation"])
    bench = Workbench(spec.run, is_small=asked["is_small"])
    rows = np.array(asked["rows"], dtype=np.int64)
    bench.embed(rows)
    if spec.depth > 0:
        bench.embed_maps(rows, depth=spec.depth, views=asked["views"])
    with torch_threads(asked["threads"]):
        adapted = bench.fit(spec, rows)
    weights = to_bytes(bench.full_model(adapted).state_dict())
    return asked["weights_sha256"], hashlib.sha256(weights).hexdigest()
