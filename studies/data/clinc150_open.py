"""CLINC150 with its domains as super-classes, and with its 1,200 sentences out of scope as unknown queries.

The features are those of `clinc150.py`. Sentences out of scope are test queries that the gallery has no class for: the
other test sentences are queries and gallery.
"""

import argparse
from pathlib import Path

import numpy as np
from clinc150 import SOURCE, domains, features, sentences

from fairground.records.arrays import write_arrays

STRANGE = "out of scope"


def arrays(repository: Path) -> dict[str, np.ndarray]:
    """Return the arrays of the file."""
    domain_of, is_learnt = domains(repository)
    known = sentences(repository, ("train", "val", "test"))
    unknown = sentences(repository, ("oos_train", "oos_val", "oos_test"))
    texts, is_known = [text for text, _ in known + unknown], np.arange(len(known + unknown)) < len(known)
    is_train = np.array([is_learnt[domain_of[intent]] for _, intent in known] + [False] * len(unknown))
    return {
        "features": features(texts, is_train).astype(np.float16),
        "labels": np.array([intent for _, intent in known] + [STRANGE] * len(unknown)),
        "super_labels": np.array([domain_of[intent] for _, intent in known] + [STRANGE] * len(unknown)),
        "split": np.where(is_train, "train", "test"),
        "query": np.ones(len(texts), bool),
        "gallery": is_known,
        "files": np.array(texts),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=f"Features of clinc150_open. The source is a copy of {SOURCE}.")
    parser.add_argument(
        "repository", metavar="COPY_OF_REPOSITORY", type=Path, help="folder with the repository's files"
    )
    parser.add_argument("-o", "--out", metavar="FEATURES_FOLDER", type=Path, required=True, help="where the file goes")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    write_arrays(asked.out / "clinc150_open.npz", arrays(asked.repository))
    print(f"wrote {asked.out / 'clinc150_open.npz'}")
