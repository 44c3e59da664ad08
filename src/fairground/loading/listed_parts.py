"""Which part (train, validation or test) the words of a list mean."""

import numpy as np

from fairground.errors import DataError
from fairground.files import shown
from fairground.spec.catalogue import nearest

#: the words a list may use, and the part each means
PARTS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def parts_from_words(words: list[str], origin: str) -> np.ndarray:
    """Return the part (n,) each word means; an empty one leaves the image out."""
    meaning = {word: PARTS.get(word.strip().lower(), "") for word in set(words)}
    unknown = sorted(word for word, part in meaning.items() if not part and word.strip())
    for word in unknown:
        told = f"{origin}: a split is train, validation or test, or empty; got {shown(word)}"
        raise DataError(f"{told}.{nearest(word, PARTS)}")
    return np.array([meaning[word] for word in words], dtype="<U10")


def held_out(parts: np.ndarray) -> np.ndarray:
    """Return which rows (n,) are kept for the end: those listed as test, or as validation where none tests.

    Tables made for OpenMetricLearning know train and validation only, and judge on the latter.
    """
    is_test = np.asarray(parts == "test")
    return is_test if is_test.any() else np.asarray(parts == "validation")
