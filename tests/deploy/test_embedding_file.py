import json

import numpy as np
import pytest
from PIL import Image

from fairground.deploy import embed_to_file, read_inputs
from fairground.errors import FairgroundError
from fairground.records.arrays import read_arrays


def test_the_file_holds_rows_names_and_classes_and_nothing_is_left_beside_it(model, pictures, tmp_path):
    inputs, told = read_inputs(pictures), []
    embed_to_file(model, inputs, tmp_path / "a.npz", tell=lambda done, of: told.append((done, of)))
    embed_to_file(model, inputs, tmp_path / "b.npy")
    arrays = read_arrays(tmp_path / "a.npz", ["embeddings", "files", "labels", "class_names"])
    assert told[-1] == (24, 24)
    assert np.allclose(np.linalg.norm(arrays["embeddings"], axis=1), 1, atol=1e-5)
    assert np.array_equal(arrays["embeddings"], np.load(tmp_path / "b.npy"))
    listed = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    assert listed["files"] == arrays["files"].tolist() == list(inputs.names)
    classes = [name.split("/")[0] for name in listed["files"]]
    assert [listed["class_names"][label] for label in listed["labels"]] == classes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.json", "b.npy"]


def test_files_and_arrays_of_the_same_pictures_embed_alike(model, icons, pictures):
    found = model.embed(pictures)
    inputs = read_inputs(pictures)
    rows = np.flatnonzero(icons.labels == 0)[:6]
    first = [number for number, name in enumerate(inputs.names) if name.startswith("bell/")]
    from_array = np.concatenate([*model.blocks(icons.images)])[rows]
    assert np.allclose(found[first], from_array, atol=1e-5)


def test_loose_images_one_image_and_a_table(model, pictures, tmp_path):
    source = sorted(pictures.rglob("*.png"))
    (tmp_path / "below").mkdir()
    Image.open(source[0]).resize((90, 50)).convert("RGB").save(tmp_path / "a photo.jpg")
    Image.open(source[1]).save(tmp_path / "below" / "b.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    inputs = read_inputs(tmp_path)
    assert inputs.names == ("a photo.jpg", "below/b.png")
    assert inputs.labels is None
    assert model.embed(inputs).shape == (2, 16)
    assert np.allclose(model.embed(tmp_path / "below" / "b.png"), model.embed(inputs)[1:], atol=1e-5)
    (tmp_path / "list.csv").write_text("path,label\nbelow/b.png,x\na photo.jpg,y\n")
    table = read_inputs(tmp_path / "list.csv")
    assert (table.class_names, table.labels.tolist()) == (("x", "y"), [0, 1])


def test_what_cannot_be_embedded_is_refused_in_a_sentence(model, tmp_path):
    def refuses(complaint, data, out="x.npz"):
        with pytest.raises(FairgroundError, match=complaint):
            embed_to_file(model, read_inputs(data), tmp_path / out)

    np.savez(tmp_path / "features.npz", features=np.zeros((4, 3), np.float32))
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    (tmp_path / "text.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    refuses("this model embeds pictures, but the data are features of width 3", tmp_path / "features.npz")
    refuses("broken.png", tmp_path / "broken.png")
    refuses("is not a folder of images, an image, a table", tmp_path / "text.txt")
    refuses("no images in class folders", tmp_path / "empty")
    refuses("'ikons' is neither a file nor a built-in dataset.*Did you mean 'icons'", "ikons")
    refuses("written as .npy or .npz", "icons", "x.txt")
