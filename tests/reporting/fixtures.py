"""Fabricated runs, galleries and watches for the tests of reports."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from fairground.files import write_with_digest
from fairground.records import RunFolder, RunRecord, Score, write_arrays
from fairground.reporting import RunSet, Watch, WatchServer
from fairground.studies.trials import Trial
from tests.records.factory import hashed, make_provenance, make_record, make_spec

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}{% raw %}",
    "$\\frac{1}{0}$ _hidden",
    "\u202eevil \x1b[31mred\x1b[0m\x00",
    "🎡 مرحبا 日本語",
    "x" * 10_000,
    '=HYPERLINK("http://example.invalid")',
)


def make_study(n_seeds: int = 3, spread: float = 0.004) -> list[RunRecord]:
    """Four methods: one ahead of the others, two close together, one far behind."""
    methods = [
        ("contrastive", {"negative_margin": 0.8}, None, 0.30),
        ("triplet", {"margin": 0.2}, None, 0.34),
        ("triplet", {"margin": 0.2}, "distance_weighted", 0.342),
        ("margin", {"beta": 1.2}, "distance_weighted", 0.45),
    ]
    given = [dict(zip(("loss", "settings", "miner", "level"), method, strict=True)) for method in methods]
    return [make_record(**method, seed=seed, spread=spread) for method in given for seed in range(n_seeds)]


def write_gallery(
    path: Path,
    *,
    labels: tuple[str, ...] = ("anchor", "bell"),
    side: int = 16,
    channels: int = 1,
    rows: np.ndarray | None = None,
) -> Path:
    """Three queries with four neighbours each; the first query has them all right, the last all wrong."""
    random = np.random.default_rng(0)
    right = np.array([[True] * 4, [True, False, True, False], [False] * 4])
    names = np.array([[labels[0]] + [labels[0] if hit else labels[1] for hit in row] for row in right])
    images = random.integers(0, 255, size=(3, 5, side, side, channels), dtype=np.uint8)
    rows = np.arange(15).reshape(3, 5) if rows is None else rows
    precision = np.array([1.0, 0.5, 0.0])
    arrays = {"images": images, "labels": names, "right": right, "average_precision": precision, "rows": rows}
    write_arrays(path, arrays)
    return path


def make_rich_study(home: Path, n_seeds: int = 3) -> RunSet:
    """Methods with and without switched tuples at several strengths, with analyses, embeddings, galleries, a search."""
    methods = [
        ("contrastive", {"negative_margin": 0.8}, "distance_weighted", None, 0.30),
        ("triplet", {"margin": 0.2}, "distance_weighted", None, 0.34),
        ("triplet", {"margin": 0.1}, "semihard", None, 0.32),
        ("margin", {"beta": 1.2}, "distance_weighted", None, 0.40),
        *(("margin", {"beta": 1.2}, "rho_distance", p, 0.41 + 0.1 * p - 0.4 * p * p) for p in (0.1, 0.2, 0.4)),
        ("multi_similarity", {"base": 0.5}, None, None, 0.38),
    ]
    random = np.random.default_rng(0)
    records = []
    for number, (loss, settings, miner, p, level) in enumerate(methods):
        for seed in range(n_seeds):
            provenance = make_provenance(wall_seconds=20.0 + 5 * number, peak_memory_bytes=400_000_000 + 10**7 * number)
            made = make_record(loss=loss, settings=settings, miner=miner, seed=seed, level=level, spread=0.004)
            made = replace(made, provenance=provenance)
            spec = dict(made.spec)
            if p is not None:
                spec["miner"] = {"name": miner, "p_switch": p}
            train = {"rho": 1.2 - level + 0.02 * random.normal(), "pi_intra": level, "pi_inter": 0.9, "pi_ratio": level}
            extra = tuple(Score(metric=key, split="train", value=value) for key, value in train.items())
            name, method = hashed(spec), hashed(spec | {"seed": 0})
            records.append(replace(made, name=name, method=method, spec=spec, scores=(*made.scores, *extra)))
    folders = {record.name: write_files(home, record.name) for record in records if record.spec["seed"] == 0}
    trials = [
        Trial(number=i, settings={"loss.margin": 0.05 * (i + 1)}, state="done", folds={0: 0.3 + 0.01 * (i % 5)})
        for i in range(8)
    ]
    return RunSet(records=tuple(records), folders=folders, trials={("icons", "laptop"): {"triplet": trials}})


def write_files(home: Path, name: str, *, class_name: str = "anchor") -> RunFolder:
    """What a run keeps: embeddings of 120 images of 6 classes, analyses of its training split, a gallery with rows."""
    folder = RunFolder(home, name).make()
    random = np.random.default_rng(len(name))
    labels = np.repeat(np.arange(6), 20)
    embeddings = random.normal(size=(6, 8))[labels] + 0.4 * random.normal(size=(120, 8))
    write_arrays(folder.embeddings, {"embeddings": embeddings, "labels": labels, "rows": np.arange(120) + 1000})
    spectrum = np.exp(-np.arange(32) / 6)
    edges = np.linspace(0, 2, 41)
    middles = (edges[1:] + edges[:-1]) / 2
    densities = {
        "densities/edges": edges,
        "densities/positive_density": np.exp(-((middles - 0.6) ** 2) / 0.05),
        "densities/negative_density": np.exp(-((middles - 1.3) ** 2) / 0.04),
    }
    write_arrays(folder.analyses, {"spectrum/spectrum": spectrum / spectrum.sum(), **densities})
    rows = np.array([[1000, 1001, 1002, 1003, 1004], [1020, 1021, 1, 1022, 2], [1040, 3, 4, 5, 6]])
    write_gallery(folder.gallery, labels=(class_name, "bell"), rows=rows)
    return folder


@contextmanager
def watching(home: Path) -> Iterator[WatchServer]:
    """Serve a run directory on any free port while the block lasts."""
    with WatchServer("127.0.0.1", 0, Watch(home, pause=0.1)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def begin_run(home: Path, *, loss: str = "margin", seed: int = 31, n_epochs: int = 3) -> str:
    """What a run leaves while it trains: its spec and a checkpoint's facts after so many epochs."""
    spec = make_spec(loss=loss, seed=seed)
    rows = [dict(vars(row), validation=dict(row.validation)) for row in make_record(loss=loss, seed=seed).epochs]
    folder = RunFolder(home, hashed(spec)).make()
    folder.spec.write_text(json.dumps(spec))
    counts = {"epoch": n_epochs + 1, "rows": rows[: n_epochs + 1], "seconds": 4.0 * n_epochs, "started": "2026-01-01"}
    write_with_digest(folder.checkpoints / f"{40 * n_epochs:08d}.json", counts)
    return folder.name
