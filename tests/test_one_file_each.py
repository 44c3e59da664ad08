"""One new loss, metric, data set, figure or fairness rule is one file touched.

Each is added to a copy of the package as CONTRIBUTING tells, nothing else is edited, and the command line uses it.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

import fairground
from tests.patience import python

FILES = {
    "losses/pull.py": '''
"""Pull: positives come nearer."""

import torch
from torch import Tensor

from fairground.contracts import Loss, Triplets, Tuples
from fairground.functional.pair_distances import normalize


class PullLoss(Loss):
    """Takes triplets."""

    accepts: tuple[type, ...] = (Triplets,)

    def __init__(self, *, weight: float = 1.0) -> None:
        super().__init__()
        self.weight = weight

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the mean cosine lost."""
        z = normalize(embeddings)
        return self.weight * (1 - (z[tuples.anchor] * z[tuples.positive]).sum(1)).mean()
''',
    "metrics/found_first.py": '''
"""Found first: whether the nearest reference is relevant."""

import numpy as np

from fairground.contracts.metric import Ranking, RankingMetric


class FoundFirstMetric(RankingMetric):
    """Takes no settings."""

    title = "Found first"

    def per_query(self, ranking: Ranking) -> np.ndarray:
        """Return one where the first place is relevant."""
        return (ranking.first == 1).astype(np.float64)
''',
    "datasets/dots.py": '''
"""Dots: made-up images."""

import numpy as np

from fairground.contracts import Dataset, ImageTable
from fairground.loading.image_dataset import ImagesInMemory


class DotsDataset(Dataset):
    """Takes the number of classes."""

    def __init__(self, *, n_classes: int = 20) -> None:
        self.n_classes = n_classes

    def load(self) -> ImageTable:
        """Return eight images a class."""
        labels = np.repeat(np.arange(self.n_classes), 8)
        noise = np.random.default_rng(0).integers(0, 99, (len(labels), 1, 8, 8))
        return ImageTable(
            images=ImagesInMemory((noise + 7 * labels[:, None, None, None]).astype(np.uint8)),
            labels=labels,
            class_names=tuple(f"dot {label}" for label in range(self.n_classes)),
            official_test=labels >= self.n_classes // 2,
        )
''',
    "reporting/figures/tally.py": '''
"""How many runs each method has."""

from fairground.reporting.drawing import Bar, Panel, panels
from fairground.reporting.figure import FigureInputs, ReportFigure

PAGE_ORDER = {"tally": 5}


def tally(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure."""
    return ReportFigure(
        name="tally",
        title="A tally of runs",
        sentence="Runs of each method.",
        draw=panels([Panel(items=[Bar(row=0, value=1)])]),
        height=2,
        columns=("method", "runs"),
        rows=[(method.label, len(method.done)) for method in inputs.methods],
    )
''',
}
RULE = """    Rule(
        name="new_rule",
        settings=("head.embedding_dim",),
        compares="dimension",
        why="Because this test says so.",
    ),
"""
PARTS = ("data=dots", "trunk.widths=[8]", "miner=distance_weighted")
SMALL = (
    *("training.epochs=1", "training.batches_per_epoch=2", "training.batch_size=8"),
    "evaluation.metrics=['found_first', 'recall@1']",
    "evaluation.select_by=found_first",
)


#: in the order in which they are given
COMMANDS = {
    "losses": ("list", "losses"),
    "metrics": ("list", "metrics"),
    **{f"pull {seed}": ("train", "loss=pull", *PARTS, *SMALL, f"seed={seed}", "-q") for seed in (0, 1)},
    "report": ("report", "-o", "page.html"),
    "other": ("train", "loss=pull", "loss.weight=2", *PARTS, *SMALL, "head.embedding_dim=6", "-q"),
    "compare": ("compare",),
}
PROGRAM = """
import contextlib, io, json, sys
from fairground.__main__ import main
told = {}
for name, words in json.loads(sys.argv[1]).items():
    sys.argv, code = ["fairground", *words], 0
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    told[name] = (code, out.getvalue())
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A copy of the package with one new file of each kind."""
    place = tmp_path_factory.mktemp("copy")
    package = place / "fairground"
    shutil.copytree(Path(fairground.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (package / name).write_text(text.lstrip())
    rules = package / "comparison" / "fairness_rules.py"
    text = rules.read_text()
    assert text.count("_NAMED: tuple[Rule, ...] = (\n") == 1
    rules.write_text(text.replace("_NAMED: tuple[Rule, ...] = (\n", f"_NAMED: tuple[Rule, ...] = (\n{RULE}"))
    return place


@pytest.fixture(scope="module")
def told(place):
    """What each command prints, in one process for all."""
    environment = {**os.environ, "PYTHONPATH": str(place), "FAIRGROUND_HOME": str(place / "home")}
    done = python("-c", PROGRAM, json.dumps(COMMANDS), env=environment, cwd=place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_new_component_is_listed_trained_and_reported(told, place):
    assert {name: code for name, (code, _) in told.items() if code} == {"compare": 2}, told
    assert "pull" in told["losses"][1]
    assert "Found first" in told["metrics"][1]
    page = (place / "page.html").read_text()
    assert "A tally of runs" in page
    assert "Found first" in page


def test_a_new_rule_refuses_a_comparison(told):
    assert "Because this test says so." in told["compare"][1]
