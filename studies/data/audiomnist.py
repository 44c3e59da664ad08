"""AudioMNIST for the studies: who speaks, of 60 people who say the digits, as simple features.

Formula
    the 256 numbers of a sound that `esc50.py` takes, standardised by the speakers that train

Of every digit the first ten of 50 recordings of a speaker are taken. What one person says of one digit is a group: a
query searches other words only. 30 speakers train, in order of the SHA-256 of their numbers, the others test. A speaker
was recorded in one room on one day, so that rooms help to tell speakers apart.
"""

import hashlib
from pathlib import Path

import numpy as np
from esc50 import sound_features
from picture_set import Half, content_hash, digest
from vectors import Vectors, run

from fairground.errors import DataError, require

N_TRAIN_SPEAKERS = 30
SOURCE = "soerenab/AudioMNIST, commit 630d7dab4c040882834de6fa21baf9a60372accd; licence MIT"
SHA256 = "79c5e4b974dd02bace4b183a7c3ff46ce1d3b6ea0c631d33c5a021e5d94d50c7"
HALF = Half(classes=30, images=3000)


def vectors(repository: Path) -> Vectors:
    """Return the features of a copy of the repository; a file is called `<digit>_<speaker>_<number>.wav`."""
    files = sorted((repository / "data").glob("*/[0-9]_*_[0-9].wav"))
    sha256 = content_hash((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)
    require(sha256 == SHA256, f"the SHA-256 of its recordings must be {SHA256}; this copy has {sha256}", DataError)
    speakers = [path.parent.name for path in files]
    learnt = set(sorted(set(speakers), key=digest)[:N_TRAIN_SPEAKERS])
    is_train = np.array([speaker in learnt for speaker in speakers])
    features = np.array([sound_features(path) for path in files])
    features = (features - features[is_train].mean(0)) / features[is_train].std(0)
    return Vectors(
        features=features,
        names=speakers,
        is_train=is_train,
        files=[path.name for path in files],
        groups=[f"{path.parent.name} {path.name[0]}" for path in files],
    )


if __name__ == "__main__":
    run("audiomnist", SOURCE, HALF, vectors)
