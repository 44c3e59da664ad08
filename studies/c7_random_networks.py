"""C7, NMI and the number of classes (Musgrave et al., 2.2 and table 2): networks that know nothing, on more and more.

Fixed before running: the network of c1_icons with its first weights from 5 seeds, and points drawn at random on the
sphere as a control; 5, 10, 20, 50, 100 and all classes of the icons that have 10 images or more, 10 images of each,
classes drawn anew by each seed. C7 holds if NMI rises by more than 10 points from 5 classes to all of them while AMI
does not, by 95 % intervals over seeds.

    python studies/c7_random_networks.py docs/results/records
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from fairground.evaluation.embed import embed
from fairground.evaluation.metric_scores import evaluate
from fairground.spec.load_run_spec import load_run
from fairground.spec.settings import parse_overrides
from fairground.training.assemble import assemble

sys.path.insert(0, str(Path(__file__).parents[1]))
from studies.results.records import ExportedRun, write_runs

STUDY = "c7_random_networks"
N_CLASSES, PER_CLASS, SEEDS = (5, 10, 20, 50, 100), 10, range(1, 6)
METRICS = ("nmi", "ami", "recall@1", "map@r")
WORDS = ("trunk=folded_conv", "data=icons")


def runs() -> Iterator[ExportedRun]:
    """Yield one measurement a kind of embedding, number of classes and seed."""
    for seed in SEEDS:
        parts = assemble(load_run(protocol="laptop", overrides=parse_overrides([*WORDS, f"seed={seed}"])))
        labels, generator = parts.table.labels, np.random.default_rng(seed)
        counts = np.bincount(labels)
        classes = generator.permutation(np.flatnonzero(counts >= PER_CLASS))
        rows = np.concatenate([generator.permutation(np.flatnonzero(labels == c))[:PER_CLASS] for c in classes])
        begun = time.process_time()
        network = embed(parts.model.eval(), parts.table.images, rows, parts.transform)
        points = torch.from_numpy(generator.normal(size=network.shape).astype(np.float32))
        for kind, embeddings in (("random network", network), ("random points", points)):
            for n in (*N_CLASSES, len(classes)):
                kept = n * PER_CLASS
                found = evaluate(embeddings[:kept], labels[rows[:kept]], METRICS)
                yield _exported(f"{kind}, {n} classes", seed, found, time.process_time() - begun)
                begun = time.process_time()


def _exported(method: str, seed: int, found: dict[str, float], seconds: float) -> ExportedRun:
    return ExportedRun(
        study=STUDY,
        run=f"{method} {seed}".replace(" ", "_").replace(",", ""),
        data="icons",
        method=method,
        kind="final",
        seed=seed,
        state="done",
        best_epoch=0,
        cpu_seconds=seconds,
        wall_seconds=seconds,
        settings={},
        epochs={("test", metric): {0: value} for metric, value in found.items()},
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_runs(Path(sys.argv[1]), STUDY, list(runs()))
