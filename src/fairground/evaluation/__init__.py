"""From embeddings to numbers; names are imported when first used, so that importing the room costs nothing.

No file here is called `evaluate`: a submodule of that name would hide the function from
`from fairground.evaluation import evaluate`.
"""

import importlib
from typing import Any

_HOMES = {
    "EmbeddingView": "embedding_view",
    "Bootstrap": "bootstrap",
    "BootstrapInterval": "bootstrap",
    **dict.fromkeys(("evaluate", "evaluate_in_detail", "Evaluation", "score_file", "analyse"), "metric_scores"),
    **dict.fromkeys(("evaluate_ensemble", "concatenate", "EnsembleScores"), "metric_scores"),
}
__all__ = list(_HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairground.evaluation' has no attribute '{name}'")
    return getattr(importlib.import_module(f"fairground.evaluation.{_HOMES[name]}"), name)
