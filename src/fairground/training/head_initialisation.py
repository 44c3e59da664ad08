"""A head that starts from the data is shown the trunk's features of the training split, once, before the first step.

The same data, trunk and settings give the same start, so a process that makes many runs fits the head once.
"""

import hashlib
from collections import OrderedDict

import torch
from torch import Tensor

from fairground.evaluation.embed import embed_blocks
from fairground.spec.identity import canonical_json, to_plain
from fairground.spec.run import RunSpec
from fairground.training.assemble import Assembled

#: starts kept at once, each as large as the head
_KEPT = 8
_starts: "OrderedDict[str, dict[str, Tensor]]" = OrderedDict()


def start_head(parts: Assembled, spec: RunSpec) -> None:
    """Fit the head where it asks to be; what it learns are weights, so a checkpoint holds them."""
    model = parts.model
    if not model.head.needs_features:
        return
    key = _key(parts, spec)
    if key in _starts:
        model.head.load_state_dict(_starts[key])
    else:
        rows = parts.parts.train
        model.head.fit(embed_blocks(model.trunk, parts.table.images, rows, parts.transform, device=parts.device))
        _starts[key] = {name: tensor.detach().clone() for name, tensor in model.head.state_dict().items()}
    _starts.move_to_end(key)
    while len(_starts) > _KEPT:
        _starts.popitem(last=False)


def _key(parts: Assembled, spec: RunSpec) -> str:
    """Return a hash of all that a start depends on."""
    plain = to_plain(spec)
    named = {name: plain[name] for name in ("data", "split", "transform", "trunk", "head", "training")}
    words = [parts.data_fingerprint, parts.split_fingerprint, str(parts.device), torch.get_num_threads()]
    digest = hashlib.sha256(canonical_json({**named, "": words}).encode())
    trunk, head = parts.model.trunk, parts.model.head
    drawn = {} if head.fit_replaces_all else head.state_dict()
    for name, tensor in (*trunk.state_dict().items(), *drawn.items()):
        digest.update(name.encode() + tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
