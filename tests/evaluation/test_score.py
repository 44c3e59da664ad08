import numpy as np
import pytest

from fairground.errors import DataError
from fairground.evaluation import evaluate, score_file


def test_a_file_scores_as_its_arrays(tmp_path):
    draw = np.random.default_rng(0)
    embeddings, labels = draw.normal(size=(80, 5)), draw.integers(9, size=80)
    np.savez(tmp_path / "one.npz", embeddings=embeddings, labels=labels, something_else=np.arange(3))
    assert score_file(tmp_path / "one.npz", ["map@r", "nmi"]) == evaluate(embeddings, labels, ["map@r", "nmi"])
    words = np.array([f"class {label}" for label in labels])
    np.savez_compressed(tmp_path / "two.npz", embeddings=embeddings, labels=words, groups=np.arange(80) % 4)
    assert score_file(str(tmp_path / "two.npz")) == evaluate(embeddings, labels, groups=np.arange(80) % 4)


def test_a_gallery_in_the_file_is_searched(tmp_path):
    draw = np.random.default_rng(1)
    arrays = {
        "embeddings": draw.normal(size=(20, 5)),
        "labels": draw.integers(4, size=20),
        "references": draw.normal(size=(50, 5)),
        "reference_labels": draw.integers(4, size=50),
    }
    np.savez(tmp_path / "both.npz", **arrays)
    expected = evaluate(arrays["embeddings"], arrays["labels"], None, arrays["references"], arrays["reference_labels"])
    assert score_file(tmp_path / "both.npz") == expected


class Trap:
    def __reduce__(self):
        raise AssertionError("the file's code was run")


def test_refusals(tmp_path):
    path = tmp_path / "file.npz"

    def refused(**arrays):
        np.savez(path, **arrays)
        with pytest.raises(DataError) as caught:
            score_file(path)
        return str(caught.value).replace(str(path), "FILE")

    assert refused(embedings=np.eye(2), labels=np.arange(2)) == (
        "FILE has no array 'embeddings'; it has embedings, labels. Did you mean 'embedings'?"
    )
    objects = np.array([{"a": 1}, None], dtype=object)
    assert refused(embeddings=np.eye(2), labels=objects).endswith("it holds Python objects; save numbers or text")
    rows = np.eye(3)
    rows[1, 1] = np.nan
    assert "rows 1" in refused(embeddings=rows, labels=np.zeros(3, int))
    with pytest.raises(DataError, match="no such file"):
        score_file(tmp_path / "none.npz")
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=r"is not an \.npz file"):
        score_file(path)
