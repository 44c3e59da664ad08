"""CLINC150 for the studies: 22,500 sentences of 150 intents in 10 domains, as simple features.

Formula
    tf-idf of words and pairs of words (sublinear counts, words of one sentence alone left out), then its first 256
    left singular vectors by the training classes, at unit length

No network and no knowledge of language: the features are weak, and a loss has much to gain. The intents of five
domains train, in order of the SHA-256 of the domain, those of the others test. Sentences out of scope are left out.
"""

import json
from pathlib import Path

import numpy as np
from picture_set import digest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from vectors import Vectors, run

N_FEATURES = 256
SOURCE = "clinc/oos-eval, commit 828f8093932c8fe6ca7936c3d2e52903b1c523de; licence CC BY 3.0"


def vectors(repository: Path) -> Vectors:
    """Return the features of a copy of the repository."""
    read = {name: json.loads((repository / "data" / f"{name}.json").read_text()) for name in ("data_full", "domains")}
    domain_of = {intent: domain for domain, intents in read["domains"].items() for intent in intents}
    learnt = set(sorted(read["domains"], key=digest)[:5])
    rows = [row for part in ("train", "val", "test") for row in read["data_full"][part]]
    sentences, intents = [row[0] for row in rows], [row[1] for row in rows]
    is_train = np.array([domain_of[intent] in learnt for intent in intents])
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    words.fit([sentence for sentence, train in zip(sentences, is_train, strict=True) if train])
    counted = words.transform(sentences)
    axes = TruncatedSVD(N_FEATURES, random_state=0).fit(counted[is_train])
    return Vectors(features=normalize(axes.transform(counted)), names=intents, is_train=is_train, files=sentences)


if __name__ == "__main__":
    run("clinc150", SOURCE, vectors)
