import json
import shutil

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.deploy import faiss_index as approximate
from fairground.deploy.decision import DecisionRule, rule_of
from fairground.deploy.index import build_index, open_index
from fairground.deploy.index_compaction import check_index
from fairground.deploy.query import query_index
from fairground.errors import FairgroundError


@pytest.fixture(scope="module")
def index(model, pictures, tmp_path_factory):
    return build_index(model, pictures, tmp_path_factory.mktemp("index") / "here")


def test_every_picture_finds_itself_and_a_planted_copy_finds_its_original(index, pictures, tmp_path):
    source = sorted(pictures.rglob("*.png"))[7]
    shutil.copy(source, tmp_path / "copy.png")
    (result,) = query_index(index, tmp_path / "copy.png", k=3, rule=DecisionRule(n_rows=len(index), threshold=0.9))
    assert result.neighbours[0].name == source.relative_to(pictures).as_posix()
    assert result.neighbours[0].label == source.parent.name
    assert result.neighbours[0].similarity == pytest.approx(1, abs=1e-5)
    assert len(result.neighbours) == 3
    assert result.decision.is_known is True
    assert result.is_right is None
    everything = query_index(index, pictures, k=1, rule=DecisionRule(n_rows=len(index)))
    assert [one.neighbours[0].similarity for one in everything] == pytest.approx([1] * len(index), abs=1e-5)
    assert everything[0].decision.is_known is None
    assert everything[0].decision.words == "no decision"


def test_below_the_threshold_everything_is_unknown(index, tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)).save(tmp_path / "noise.png")
    (result,) = query_index(index, tmp_path / "noise.png", rule=rule_of(index, threshold=0.9999999))
    assert result.decision.is_known is False
    assert result.decision.words.startswith("unknown")


def test_four_classes_promise_too_little_and_the_sentence_says_what_would_do(index):
    rule = rule_of(index)
    assert rule.threshold is None
    assert rule.sentence() == (
        "No decision between known and unknown: 4 classes that the model was not trained on can promise a rate of "
        "20.0 % at the lowest, and 5 % takes 19 classes; ask for more with --fpir 20."
    )
    assert rule_of(index, fpir=0.2).threshold is not None


def test_small_pictures_are_kept_by_row(index, pictures):
    for row in (0, 11):
        assert index.thumbnail(row).startswith(b"\x89PNG")
    assert index.names == tuple(sorted(path.relative_to(pictures).as_posix() for path in pictures.rglob("*.png")))


def test_an_index_can_move_and_is_opened_without_its_pictures_or_run(index, tmp_path, pictures):
    moved = open_index(shutil.copytree(index.folder, tmp_path / "moved"))
    query = index.model.embed(pictures)[:2]
    assert np.array_equal(moved.search(query, 3).numbers, index.search(query, 3).numbers)
    assert not (moved.folder / "index.partial").exists()


def test_the_approximate_search_finds_the_same_in_a_small_index(model, icons, tmp_path):
    pytest.importorskip("faiss", reason="faiss is not installed")
    index = build_index(model, "icons", tmp_path / "large", how="approximate")
    queries = np.array(index.embeddings[:20])
    exact, fast = index.search(queries, 1, how="exact"), index.search(queries, 1)
    assert np.allclose(exact.similarities, fast.similarities, atol=1e-5)
    assert index.approximate_recall > 0.5


def test_without_faiss_the_sentence_says_what_to_do(model, pictures, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    assert not approximate.is_there()
    with pytest.raises(FairgroundError, match="pip install faiss-cpu"):
        build_index(model, pictures, tmp_path / "x", how="approximate")


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("index.json", "{}", "not that of a fairground index"),
        ("index.json", "nonsense", "cannot be read"),
        ("segments/000001/segment.json", '{"class_names": [], "left_out": []}', "do not agree"),
        ("segments/000001/embeddings.npy", "nonsense", "not readable as an array"),
    ],
)
def test_a_damaged_index_is_refused(index, tmp_path, file, content, complaint):
    folder = shutil.copytree(index.folder, tmp_path / "damaged")
    (folder / file).write_text(content)
    with pytest.raises(FairgroundError, match=complaint):
        open_index(folder)


@pytest.mark.parametrize("file", ["model.json", "weights.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"garbage"])
def test_a_damaged_model_is_found_by_the_check(index, tmp_path, file, content):
    folder = shutil.copytree(index.folder, tmp_path / "damaged")
    assert check_index(folder) == []
    path = folder / "model" / file
    path.unlink() if content is None else path.write_bytes(content)
    assert check_index(folder) == [str(path)]
    held = json.loads((folder / "index.json").read_text())
    del held["model"]  # as earlier versions wrote it
    (folder / "index.json").write_text(json.dumps(held))
    assert check_index(folder) == [str(folder / "model")]


def test_other_folders_are_left_alone(model, pictures, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FairgroundError, match="is not empty and is no index"):
        build_index(model, pictures, tmp_path)
    with pytest.raises(FairgroundError, match="there is no index folder"):
        open_index(tmp_path / "nowhere")


def test_the_commands_from_model_to_page(exported, pictures, tmp_path):
    runner = CliRunner()
    made = runner.invoke(app, ["index", str(exported), str(pictures), "-o", str(tmp_path / "i")])
    assert made.exit_code == 0, made.output
    words = ["query", str(tmp_path / "i"), str(pictures), "-k", "4", "--page", str(tmp_path / "m.html")]
    said = runner.invoke(app, words)
    assert said.exit_code == 0, said.output
    assert "\u202e" not in said.output
    assert "No decision between known and unknown: 4 classes" in said.output
    assert "nearest classes: " in said.output
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<li") == 24 * 4
    answers = json.loads(runner.invoke(app, [*words[:5], "--fpir", "25", "--json"]).stdout)
    assert len(answers["answers"]) == 24
    assert answers["calibration_classes"] == 4
    assert answers["fpir"] == 0.25
    # Every picture lies in the index: it finds itself.
    assert {one["decision"]["is_known"] for one in answers["answers"]} == {True}
    several = [str(path) for path in sorted(pictures.rglob("*.png"))[:3]]
    said = runner.invoke(app, ["query", str(tmp_path / "i"), *several, "-k", "1", "--fpir", "25"])
    assert "3 pictures: 3 given a class, 0 unknown." in said.output
    assert "At most 25 % of pictures of unknown classes are given a class of this index of 24 rows" in said.output
