"""Train a small model, make a collection searchable, and ask it for pictures like some others.

python examples/embed_and_search.py
"""

import tempfile
from pathlib import Path

from fairground.deploy.index_folder import build_index
from fairground.deploy.model_folder import open_model
from fairground.deploy.unknown_classes import rule_of
from fairground.spec.load_run_spec import load_run
from fairground.spec.settings import parse_overrides
from fairground.training.run import run


def main(folder: Path, *overrides: str) -> float:
    """Return the share of queries whose most similar other picture is of their own class."""
    record = run(load_run(overrides=parse_overrides(["loss=multi_similarity", *overrides])), home=folder)
    model = open_model(record.name, home=folder)

    embeddings = model.embed("icons")  # or a folder of images, a table, one image, a file of features
    print("embedded", embeddings.shape)

    index = build_index(model, "icons", folder / "index")
    matches = index.search(embeddings[::50], k=2)  # the first is the picture itself
    rows = range(0, len(index), 50)
    hits = [index.label(row) == index.label(found) for row, found in zip(rows, matches.numbers[:, 1], strict=True)]

    rule = rule_of(index)  # at most 5 % of pictures of unknown classes are given a class of this index
    print(rule.sentence())
    if rule.threshold is not None:
        print("given a class:", float((matches.similarities[:, 1] >= rule.threshold).mean()))
    return sum(hits) / len(hits)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print("nearest other icon of the same class:", main(Path(place)))
