"""C11, untrained rows (Musgrave et al., 2.1 and table 1): what a trunk's weights reach on test classes before training.

Fixed on 17 November 2026, when the rows of EfficientNet-Lite0 were known and that of ResNet-50 was not: Recall@1 and
MAP@R of the test half by cosine, of all features and of 512 and 128 principal axes, found on the training classes and,
as the paper has it, on the pictures that are judged. C11, the trunk moves Recall@1 more than the loss does, holds if
two untrained trunks lie further apart on CUB-200-2011 (512 axes of the judged pictures, as in the paper's table) than
the best and the median trained method of C1.

    python studies/c11_untrained.py docs/results/records efficientnet_lite0 FEATURES/*.npz
    python studies/c11_untrained.py docs/results/records resnet50 cub200=RESNET/test.npz

Each call adds the rows of one trunk. A file with `split` is one of `studies/data/features.py`; one without has the test
half alone.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from fairground.evaluation import pretrained_embeddings
from fairground.evaluation.metric_scores import evaluate

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent / "data"))
from frozen import projected
from studies.results.records import ExportedRun, read_runs, write_runs

STUDY = "c11_untrained"
DIMS = (512, 128)
METRICS = ("recall@1", "map@r")


def runs(trunk: str, data: str, file: Path) -> Iterator[ExportedRun]:
    """Yield one measurement a way to shorten the features of one file."""
    with np.load(file) as arrays:
        features, labels = arrays["features"].astype(np.float32), arrays["labels"]
        is_test = arrays["split"] == "test" if "split" in arrays.files else np.ones(len(labels), bool)
        groups = arrays["groups"][is_test] if "groups" in arrays.files else None
    tested = features[is_test]
    for way, embeddings in _ways(features[~is_test], tested):
        begun = time.process_time()
        found = evaluate(embeddings, labels[is_test], METRICS, groups=groups)
        yield _exported(f"{trunk}, {way}", data, found, time.process_time() - begun)


def _ways(trained: np.ndarray, tested: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield f"all {tested.shape[1]}", tested
    for dim in DIMS:
        if len(trained) > dim:
            yield f"{dim} axes of training classes", projected(trained, tested, dim=dim)
        judged = pretrained_embeddings(torch.from_numpy(tested), dim=dim)
        yield f"{dim} axes of judged pictures", judged.numpy()


def _exported(method: str, data: str, found: dict[str, float], seconds: float) -> ExportedRun:
    return ExportedRun(
        study=STUDY,
        run=f"{data}, {method}".replace(", ", "_").replace(" ", "_"),
        data=data,
        method=method,
        kind="final",
        seed=0,
        state="done",
        best_epoch=0,
        cpu_seconds=seconds,
        wall_seconds=seconds,
        settings={},
        epochs={("test", metric): {0: value} for metric, value in found.items()},
    )


def main() -> None:
    """Add the rows of the files named to the records."""
    records, trunk, *files = sys.argv[1:]
    fresh: list[ExportedRun] = []
    for said in files:
        data, _, path = said.rpartition("=")
        fresh += runs(trunk, data or Path(path).stem, Path(path))
    kept = {run.run: run for run in [*read_runs(Path(records), STUDY), *fresh]}
    write_runs(Path(records), STUDY, [kept[name] for name in sorted(kept)])


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
