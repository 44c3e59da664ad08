"""CLINC150 for the studies: 22,500 sentences of 150 intents in 10 domains, as simple features.

Formula
    tf-idf of words and pairs of words (sublinear counts, words of one sentence alone left out), then its first 256
    left singular vectors by the training classes, at unit length

No network and no knowledge of language: the features are weak, and a loss has much to gain. The intents of five
domains train, in order of the SHA-256 of the domain, those of the others test. Sentences out of scope are left out
here; `clinc150_open.py` has them.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from picture_set import Half, digest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from vectors import Vectors, run

N_FEATURES = 256
SOURCE = "clinc/oos-eval, commit 828f8093932c8fe6ca7936c3d2e52903b1c523de; licence CC BY 3.0"
HALF = Half(classes=75, images=11250)


def vectors(repository: Path) -> Vectors:
    """Return the features of a copy of the repository."""
    domain_of, is_learnt = domains(repository)
    rows = sentences(repository, ("train", "val", "test"))
    is_train = np.array([is_learnt[domain_of[intent]] for _, intent in rows])
    texts = [text for text, _ in rows]
    return Vectors(
        features=features(texts, is_train), names=[intent for _, intent in rows], is_train=is_train, files=texts
    )


def domains(repository: Path) -> tuple[dict[str, str], dict[str, bool]]:
    """Return the domain of each intent, and whether the intents of a domain train."""
    read = json.loads((repository / "data" / "domains.json").read_text(encoding="utf-8"))
    learnt = sorted(read, key=digest)[:5]
    return {intent: domain for domain, intents in read.items() for intent in intents}, {
        one: one in learnt for one in read
    }


def sentences(repository: Path, parts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the sentences of some lists of the set, each with its intent."""
    read = json.loads((repository / "data" / "data_full.json").read_text(encoding="utf-8"))
    return [(text, intent) for part in parts for text, intent in read[part]]


def features(texts: Sequence[str], is_train: np.ndarray) -> np.ndarray:
    """Return the features (n, 256) of sentences; those that train fit words and axes."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    words.fit([text for text, train in zip(texts, is_train, strict=True) if train])
    counted = words.transform(texts)
    axes = TruncatedSVD(N_FEATURES, random_state=0).fit(counted[is_train])
    return np.asarray(normalize(axes.transform(counted)))


if __name__ == "__main__":
    run("clinc150", SOURCE, HALF, vectors)
