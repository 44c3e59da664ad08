"""A head that starts from the data is shown the trunk's features of the training split, once, before the first step.

Where the features are ready-made, no weight and no seed decides what the head starts from: the many runs of a study
that one process makes share it.
"""

from collections.abc import Hashable, Mapping

import torch
from torch import Tensor

from fairground.contracts.model import Head
from fairground.evaluation.embed import embed_blocks
from fairground.training.assemble import Assembled

#: the weights that heads started from, by all that decides them; a few are enough, for studies go set by set
_STARTS: dict[Hashable, Mapping[str, Tensor]] = {}
_MOST_STARTS = 4


def start_head(parts: Assembled) -> None:
    """Fit the head where it asks to be; what it learns are weights, so a checkpoint holds them."""
    head = parts.model.head
    if not head.needs_features:
        return
    is_fixed = not parts.table.images.is_picture and not parts.model.trunk.state_dict()
    key = (parts.data_fingerprint, parts.split_fingerprint, _settings(head)) if is_fixed else None
    if key in _STARTS:
        head.load_state_dict(_STARTS[key])
        return
    rows = parts.split.train
    blocks = embed_blocks(parts.model.trunk, parts.table.images, rows, parts.transform, device=parts.device)
    if head.needs_labels:
        head.fit_classes(blocks, torch.from_numpy(parts.table.labels[rows]))
    else:
        head.fit(blocks)
    if key is not None:
        if len(_STARTS) >= _MOST_STARTS:
            _STARTS.pop(next(iter(_STARTS)))
        _STARTS[key] = {name: tensor.detach().cpu().clone() for name, tensor in head.state_dict().items()}


def _settings(head: Head) -> Hashable:
    """Return what tells heads of ready-made features apart: their kind and their plain settings."""
    plain = {name: value for name, value in vars(head).items() if isinstance(value, (int, float, str))}
    return type(head), tuple(sorted(plain.items()))
