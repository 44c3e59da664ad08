import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from fairground.deploy import EER, FMR, Embedder, ResizedImages, example_inputs, open_model, thresholds_of, write_model
from fairground.errors import FairgroundError
from fairground.evaluation.evaluated_embeddings import EmbeddingView
from fairground.loading.image_dataset import ImagesInMemory


def copy(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "copy")


def test_a_folder_gives_the_same_embeddings_as_its_run(model, exported, pictures):
    again = open_model(exported)
    found = again.embed(pictures)
    assert np.array_equal(model.embed(pictures), found)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    raw = again.embed(pictures, raw=True)
    assert not np.allclose(np.linalg.norm(raw, axis=1), 1, atol=1e-3)


def test_the_facts_survive_the_file_and_the_card_says_them(trained, model, exported):
    metadata = open_model(exported).metadata
    assert metadata.scores == model.metadata.scores
    assert metadata.thresholds == model.metadata.thresholds
    assert metadata.trunk == model.metadata.trunk
    assert (metadata.run, metadata.embedding_dim, metadata.channels) == (trained.name, 16, 1)
    assert metadata.size == model.metadata.size
    assert metadata.data_fingerprint == trained.record.provenance.data_fingerprint
    card = (exported / "README.md").read_text(encoding="utf-8")
    fingerprints = (metadata.data_fingerprint, metadata.split_fingerprint)
    assert all(text in card for text in (trained.name, *fingerprints, "95 %", "Limits", "laptop", "model.onnx"))


def test_scores_are_the_records_with_intervals_over_classes(trained, model):
    found = {(score.split, score.metric): score for score in model.metadata.scores}
    for split in ("validation", "test"):
        score = found[split, "map@r"]
        assert score.value == pytest.approx(trained.record.score("map@r", split), abs=1e-6)
        assert score.low < score.value < score.high
        assert score.confidence == 0.95


def test_the_onnx_file_agrees_with_torch_for_batches_never_seen(exported):
    import onnxruntime

    again = open_model(exported)
    inputs = example_inputs(again, 17).numpy()
    session = onnxruntime.InferenceSession(exported / "model.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(["embeddings"], {"inputs": inputs})
    with torch.no_grad():
        wanted = Embedder(again.network, normalise=True).eval()(torch.from_numpy(inputs)).numpy()
    assert np.abs(found - wanted).max() < 1e-4
    assert again.metadata.onnx.largest_difference < 1e-4


def test_no_file_of_the_folder_is_a_pickle(exported):
    names = ["README.md", "model.json", "model.onnx", "weights.safetensors"]
    assert sorted(path.name for path in exported.iterdir()) == names


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"trunk": {"name": "os:system"}}, "outside fairground"),
        ({"version": 99}, "version 99"),
        ({"head": {"name": "linear", "embedding_dim": 8}}, "do not fit"),
        ({"embedding_dim": 17}, r"cannot be made: model.json names 17 numbers per embedding, but its head makes \d+"),
    ],
)
def test_a_folder_that_was_tampered_with_is_refused_in_a_sentence(exported, tmp_path, change, complaint):
    folder = copy(exported, tmp_path)
    data = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**data, **change}))
    with pytest.raises(FairgroundError, match=complaint):
        open_model(folder)


def test_damaged_weights_are_noticed(exported, tmp_path):
    folder = copy(exported, tmp_path)
    data = bytearray((folder / "weights.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "weights.safetensors").write_bytes(data)
    with pytest.raises(FairgroundError, match="checksum"):
        open_model(folder)


def test_nothing_of_somebody_elses_is_written_over(model, tmp_path):
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(FairgroundError, match="not empty and is not a model folder"):
        write_model(model, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_gray_is_pillows_gray():
    colours = np.random.default_rng(0).integers(0, 256, (3, 16, 20, 3), dtype=np.uint8)
    images = ImagesInMemory(np.ascontiguousarray(colours.transpose(0, 3, 1, 2)))
    wanted = np.stack([np.asarray(Image.fromarray(picture).convert("L")) for picture in colours])[:, None]
    fitted = ResizedImages(images, channels=1, size=None)
    found = fitted.take(np.arange(3))
    assert found.dtype == torch.uint8
    assert np.array_equal(found.numpy(), wanted)
    boxes = np.tile([2, 3, 14, 15], (3, 1))
    assert np.array_equal(fitted.crops(np.arange(3), boxes, 12).numpy(), wanted[:, :, 3:15, 2:14])


def on_circle(degrees):
    angle = np.deg2rad(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)


def test_two_classes_apart_have_a_threshold_without_error():
    view = EmbeddingView(on_circle([0, 10, 90, 100]), np.array([0, 0, 1, 1]))
    for found in thresholds_of(view):
        assert (found.fmr, found.fnmr) == (0, 0)
        assert found.similarity == pytest.approx(np.cos(np.deg2rad(10)), abs=1e-6)
        # Each pair is counted from both its ends.
        assert (found.n_genuine, found.n_impostors) == (4, 8)


def test_rates_and_thresholds_agree_with_counting_all_pairs():
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 10)
    rows = generator.normal(size=(12, 8))[labels] + 1.2 * generator.normal(size=(120, 8))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    similar = rows @ rows.T
    is_pair = ~np.eye(120, dtype=bool)
    same = labels[:, None] == labels[None]
    genuine, impostors = similar[same & is_pair], similar[~same]
    found = {one.name: one for one in thresholds_of(EmbeddingView(rows, labels))}
    for one in found.values():
        assert one.fmr == pytest.approx((impostors >= one.similarity - 1e-7).mean(), abs=2e-4)
        assert one.fnmr == pytest.approx((genuine < one.similarity - 1e-7).mean(), abs=2e-3)
    assert found[FMR].fmr <= 0.01
    lower = genuine[genuine < found[FMR].similarity - 1e-6].max()
    assert (impostors >= lower).mean() > 0.01
    assert abs(found[EER].fmr - found[EER].fnmr) < 0.01


def test_raw_embeddings_have_distances_for_similarities():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [100.0, 0.0], [100.0, 5.0]], np.float32)
    found = thresholds_of(EmbeddingView(rows, np.array([0, 0, 1, 1]), normalise=False))
    assert found[0].similarity == pytest.approx(-5.0, abs=1e-3)


def test_nothing_is_claimed_where_nothing_can_be_measured():
    assert thresholds_of(EmbeddingView(on_circle([0, 1]), np.array([0, 1]))) == ()
    assert thresholds_of(EmbeddingView(on_circle([0, 1]), np.array([0, 0]))) == ()
