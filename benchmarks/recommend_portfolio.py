"""Which training pays first? What `fairground recommend` tries, on validation classes by steps and processor time.

For every folder of FAIRGROUND_BENCH_DATA, "label=path" separated by spaces: each training of the portfolio without the
classes of one fold, scored on them after 20, 40 and 80 steps as it is and with PLDA. Test classes are not opened. All
measurements are kept in FAIRGROUND_BENCH_HOME (default: build/bench-recommend).
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.harness import Table
from benchmarks.plain_loop import scores
from benchmarks.recommend import DATA, HOME
from fairground.recommendation.methods import Method, discriminant, trained_networks
from fairground.recommendation.request import make_request
from fairground.recommendation.sealed_classes_and_folds import ClassFolds
from fairground.training.adaptation import Adaptation, Workbench

PAGE = Path(__file__).parent.parent / "docs" / "recommend.md"
SIDE, MARKS = 160, (20, 40, 80)
#: images to learn from and to validate with
MOST_IMAGES = 800
Found = dict[str, Any]


def tables() -> Iterator[Table]:
    folders = [entry.partition("=")[::2] for entry in DATA]
    found = {label: _measured(label, path) for label, path in folders}
    yield Table(
        title="Which training pays first",
        note=f"EfficientNet-Lite0 at {SIDE} pixels on {', '.join(found)}: mean gain over the frozen network with PLDA "
        "in points on validation classes, Recall@1 / MAP@R, and processor seconds until then on one core.",
        header=["training", "steps", "seconds", "as it is", "with PLDA"],
        rows=[
            [name, str(mark), f"{np.mean([one[name][str(mark)]['seconds'] for one in some]):.0f}", *cells]
            for name in dict.fromkeys(name for one in found.values() for name in one["trainings"])
            for mark in MARKS
            if (some := [one["trainings"] for one in found.values()])
            for cells in [[_gain(found, name, mark, kind) for kind in ("plain", "PLDA")]]
        ],
    )


def _gain(found: dict[str, Found], name: str, mark: int, kind: str) -> str:
    gains = [
        [100 * (one["trainings"][name][str(mark)][kind][metric] - one["frozen"][metric]) for metric in one["frozen"]]
        for one in found.values()
    ]
    return " / ".join(f"{value:+.1f}" for value in np.mean(gains, axis=0))


def _measured(label: str, path: str) -> Found:
    kept = HOME / f"{label}-portfolio.json"
    found: Found = json.loads(kept.read_text()) if kept.is_file() else {"trainings": {}}
    torch.set_num_threads(1)
    data = {"data": "folder", "data.root": path}
    request = make_request(label, data, {}, by="recall@1", protocol="photographs", seed=0)
    network = request.published("efficientnet_lite0", SIDE)
    bench = Workbench(request.frozen(network).spec(request.base, 0).run)
    rows = bench.embed(bench.seen[:MOST_IMAGES])
    folds = ClassFolds(rows=rows, labels=bench.table.labels[rows], seed=0)
    train, validation = folds.fold(0)
    labels = bench.table.labels[validation]
    plda = discriminant((0.7, 2.0))[1]
    frozen = Method(name="frozen", network=network, overrides=plda).spec(request.base, 0)
    found["frozen"] = scores(bench.fit(frozen, train).embed(validation).numpy(), labels)
    HOME.mkdir(parents=True, exist_ok=True)
    for method in trained_networks(network, bench.n_last):
        if method.training in found["trainings"]:
            continue
        training, begun = Adaptation(bench, method.spec(request.base, 0), train), time.process_time()
        by_mark: Found = {}
        head = Method(name="", network=network, overrides=plda).spec(request.base, 0).run.head
        for mark in MARKS:
            while training.steps < mark:
                training.step()
            seconds = time.process_time() - begun
            features = training.embedded(validation)
            (fitted,) = training.heads([head])
            with torch.no_grad():
                made = {"plain": features, "PLDA": fitted(features)}
            cells = {kind: scores(one.numpy(), labels) for kind, one in made.items()}
            by_mark[str(mark)] = {"seconds": seconds, **cells}
            begun = time.process_time() - seconds
        found["trainings"][method.training] = by_mark
        kept.write_text(json.dumps(found))
    return found
