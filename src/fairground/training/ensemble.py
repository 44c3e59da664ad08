"""Several finished runs judged as one: their stored embeddings of the test split joined and measured once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairground.errors import DataError, require
from fairground.evaluation.ensemble import concatenate
from fairground.records.arrays import read_arrays
from fairground.records.run_folder import RunFolder
from fairground.spec.load import run_from_plain
from fairground.training.assemble import assemble
from fairground.training.loop import Listener
from fairground.training.measure import measure


def ensemble_job(job: Mapping[str, Any], tell: Listener = lambda _: None) -> dict[str, Any]:
    """Return the concatenated scores of `runs` under `home`, by the rules of `spec`: JSON in, JSON out."""
    names = [str(name) for name in job["runs"]]
    found = [_embeddings(RunFolder(Path(job["home"]), name)) for name in names]
    rows = found[0][1]
    require(
        all(np.array_equal(rows, other) for _, other in found),
        f"the runs {', '.join(names)} tested on different images, so that they cannot be joined",
        DataError,
    )
    spec = run_from_plain(job["spec"])
    parts = assemble(spec)
    embeddings = [torch.from_numpy(of_one) for of_one, _ in found]
    joined = concatenate(embeddings, normalise=parts.on_sphere(spec.evaluation))
    scores = measure(spec, parts, torch.as_tensor(joined), rows).scores
    tell({"kind": "ensemble", "runs": names})
    return {"scores": dict(scores), "embedding_dim": int(joined.shape[1])}


def _embeddings(folder: RunFolder) -> tuple[np.ndarray, np.ndarray]:
    require(
        folder.embeddings.is_file(),
        f"run {folder.name} left no embeddings under {folder.root}; several machines need a --home they share",
        DataError,
    )
    arrays = read_arrays(folder.embeddings, ["embeddings", "rows"])
    return arrays["embeddings"], arrays["rows"]
