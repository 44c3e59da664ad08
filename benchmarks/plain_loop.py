"""What a user would write by hand: a pretrained network fine-tuned in a plain loop for a given time, then scored.

`python -m benchmarks.plain_loop FOLDER SECONDS` prints the scores on the test classes as JSON. The loop is that of a
tutorial: multi-similarity loss and miner of pytorch-metric-learning, Adam at 1e-4 on all weights, 6 classes of 4 images
a batch, batch norm frozen. Its time includes reading the images and scoring the test classes, as that of `recommend`
does. Without SECONDS it prints the scores of the frozen network, of its features whitened within classes, and with
PLDA; with `--model DIR` those of a model that `recommend` handed over, used as its user would. Only the weights, the
halves of classes and that model come from fairground.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from pytorch_metric_learning import losses, miners

from fairground.commands.load_model import load_model
from fairground.heads.plda import PldaHead
from fairground.spec import load_run
from fairground.training.assemble import build, load_table

SIDE, SHORTER = 224, 256
CLASSES, PER_CLASS, RATE = 6, 4, 1e-4
#: images of a block of embeddings
BLOCK = 64
now = time.process_time if os.environ.get("FAIRGROUND_BENCH_CLOCK") == "cpu" else time.monotonic


def picture(path: Path, network: Any, random: np.random.Generator | None) -> np.ndarray:
    """Return one image (3, 224, 224): the middle, or a random resized crop mirrored half of the time."""
    image = Image.open(path).convert("RGB")
    width, height = image.size
    if random is None:
        scale = SHORTER / min(width, height)
        image = image.resize(
            (max(SIDE, round(width * scale)), max(SIDE, round(height * scale))), Image.Resampling.BILINEAR
        )
        left, top = (image.width - SIDE) // 2, (image.height - SIDE) // 2
        image = image.crop((left, top, left + SIDE, top + SIDE))
    else:
        side = np.sqrt(random.uniform(0.16, 1.0)) * min(width, height)
        left, top = random.uniform(0, width - side), random.uniform(0, height - side)
        image = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=(left, top, left + side, top + side))
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    expected = network.preprocessing
    pixels = (np.asarray(image, dtype=np.float32) / expected.scale - np.array(expected.mean)) / np.array(
        expected.deviation
    )
    return np.ascontiguousarray(pixels.transpose(2, 0, 1), dtype=np.float32)


def scores(embeddings: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Return Recall@1 and MAP@R of unit vectors that search each other; sums by class after their n."""
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    by_class: dict[int, list[float]] = {int(label): [0, 0.0, 0.0] for label in np.unique(labels)}
    for row, label in zip(similarity, labels, strict=True):
        n_relevant = int((labels == label).sum()) - 1
        if n_relevant:
            right = labels[np.argsort(-row, kind="stable")[:n_relevant]] == label
            precision = (right * np.cumsum(right) / np.arange(1, n_relevant + 1)).sum() / n_relevant
            for place, value in enumerate((1, float(right[0]), float(precision))):
                by_class[int(label)][place] += value
    n, hits, precisions = np.sum(list(by_class.values()), axis=0)
    return {"recall@1": hits / n, "map@r": precisions / n, "by_class": by_class}


def main(folder: str, seconds: float | None = None, model: str | None = None) -> dict[str, object]:
    begun = now()
    run = load_run(
        protocol="photographs", overrides={"data.root": folder, "data.prepared": 0, "split": "random_halves"}
    )
    table = load_table(run.data).table
    parts = build("split", run.split).parts(table)
    seen, test = np.concatenate([parts.train, parts.validation]), parts.test
    labels, paths = table.labels, [Path(folder) / name for name in table.identifiers or ()]
    if model is not None:
        return scores(load_model(model).embed([paths[row] for row in test]), labels[test])
    network = build("trunk", run.trunk, {"channels": 3})

    def embed(rows: np.ndarray) -> np.ndarray:
        network.eval()
        blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
        with torch.no_grad():
            found = [
                network(torch.from_numpy(np.stack([picture(paths[row], network, None) for row in block])))
                for block in blocks
            ]
        return torch.cat(found).numpy()

    if seconds is None:
        return _closed_forms(embed(seen), labels[seen], embed(test), labels[test])
    began = now()
    embed(test[:BLOCK])
    kept = (now() - began) / min(len(test), BLOCK) * len(test)
    random, by_class = (
        np.random.default_rng(0),
        {label: seen[labels[seen] == label] for label in np.unique(labels[seen])},
    )
    loss, miner = losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5), miners.MultiSimilarityMiner(epsilon=0.1)
    optimiser, steps = torch.optim.Adam(network.parameters(), lr=RATE), 0
    while now() - begun < seconds - kept:
        classes = random.choice(list(by_class), min(CLASSES, len(by_class)), replace=False)
        rows = np.concatenate([random.choice(by_class[one], PER_CLASS) for one in classes])
        batch = torch.from_numpy(np.stack([picture(paths[row], network, random) for row in rows]))
        network.eval()  # batch norm keeps its statistics
        embeddings, targets = torch.nn.functional.normalize(network(batch)), torch.from_numpy(labels[rows])
        value = loss(embeddings, targets, miner(embeddings, targets))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        steps += 1
    found = {"plain loop": scores(embed(test), labels[test]), "steps": steps}
    return found | {"seconds": round(now() - begun, 1)}


def _closed_forms(seen: np.ndarray, seen_labels: np.ndarray, test: np.ndarray, labels: np.ndarray) -> dict[str, object]:
    known, unknown = seen.astype(np.float64), test.astype(np.float64)
    centred = known - np.stack([known[seen_labels == label].mean(0) for label in seen_labels])
    within = centred.T @ centred / len(centred)
    within += 0.1 * np.trace(within) / len(within) * np.eye(len(within))
    whitened = unknown @ np.linalg.inv(np.linalg.cholesky(within)).T
    head = PldaHead(n_features=known.shape[1])
    head.fit_classes([torch.from_numpy(seen)], torch.from_numpy(np.unique(seen_labels, return_inverse=True)[1]))
    with torch.no_grad():
        plda = head(torch.from_numpy(test)).numpy()
    return {name: scores(one, labels) for name, one in (("frozen", unknown), ("whitened", whitened), ("PLDA", plda))}


if __name__ == "__main__":
    where, *rest = sys.argv[1:]
    if rest[:1] == ["--model"]:
        print(json.dumps(main(where, model=rest[1])))
    else:
        print(json.dumps(main(where, float(rest[0]) if rest else None)))
