"""Whether a file of weights fits the parts a model folder names, found out before any of them takes memory."""

from collections.abc import Mapping

import torch
from torch import Tensor

from fairground.deploy.metadata import ModelMetadata
from fairground.errors import DataError, require
from fairground.spec.run import ComponentSpec, TrainingSpec
from fairground.training.assemble import build_model


def require_fitting(
    facts: ModelMetadata, trunk: ComponentSpec, training: TrainingSpec, weights: Mapping[str, Tensor]
) -> None:
    """Refuse weights whose names or shapes are not those of the parts; a few kilobytes can name a network of terabytes.

    The parts are built on torch's `meta` device, where a tensor is a shape and nothing else.
    """
    for key, part in (("trunk", trunk), ("head", facts.head)):
        longest = max((len(value) for value in part.settings.values() if isinstance(value, list)), default=0)
        # Every entry of a list makes a layer with weights; a million layers take minutes even without memory.
        complaint = f"{key} has a setting with {longest:,} entries, but the file holds {len(weights):,} weights"
        require(longest <= max(len(weights), 16), complaint, DataError)
    with torch.device("meta"):
        model = build_model(trunk, facts.head, training, channels=facts.channels)
    wanted, width = model.state_dict(), model.head.embedding_dim
    missing, unknown = sorted(set(wanted) - set(weights)), sorted(set(weights) - set(wanted))
    require(
        not missing and not unknown,
        f"its weights do not fit the parts it names: {_few(missing)} missing, {_few(unknown)} without a place",
        DataError,
    )
    for name, place in wanted.items():
        found = weights[name]
        require(
            found.shape == place.shape,
            f"its weights do not fit the parts it names: {name} has shape {tuple(found.shape)} where "
            f"{tuple(place.shape)} is needed",
            DataError,
        )
    complaint = f"it says that embeddings have {facts.embedding_dim:,} numbers, but its head makes {width:,}"
    require(facts.embedding_dim == width, complaint, DataError)


def _few(names: list[str]) -> str:
    return (", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")) or "nothing"
