import json
import shutil

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from fairground.cli.main import app
from fairground.deploy import faiss_index as approximate
from fairground.deploy.index import build_index, open_index
from fairground.deploy.query import query_index, rule_of
from fairground.errors import FairgroundError


@pytest.fixture(scope="module")
def index(model, pictures, tmp_path_factory):
    return build_index(model, pictures, tmp_path_factory.mktemp("index") / "here")


def test_every_picture_finds_itself_and_a_planted_copy_finds_its_original(index, pictures, tmp_path):
    source = sorted(pictures.rglob("*.png"))[7]
    shutil.copy(source, tmp_path / "copy.png")
    (result,) = query_index(index, tmp_path / "copy.png", k=3, rule=rule_of(index, "fmr"))
    assert result.neighbours[0].name == source.relative_to(pictures).as_posix()
    assert result.neighbours[0].label == source.parent.name
    assert result.neighbours[0].similarity == pytest.approx(1, abs=1e-5)
    assert result.is_match is True
    everything = query_index(index, pictures, k=1, rule=rule_of(index, "none"))
    assert [one.neighbours[0].similarity for one in everything] == pytest.approx([1] * len(index), abs=1e-5)
    assert everything[0].is_match is None


def test_below_the_threshold_nothing_is_a_match(index, tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)).save(tmp_path / "noise.png")
    (result,) = query_index(index, tmp_path / "noise.png", rule=rule_of(index, "0.9999999"))
    assert result.is_match is False
    assert result.verdict.startswith("no match (best ")
    calibrated = rule_of(index, "fmr")
    assert calibrated.similarity == index.model.metadata.threshold("fmr 1 %").similarity
    assert "1 %): of pairs of different classes" in calibrated.sentence(len(index))
    assert "24 rows here" in calibrated.sentence(len(index))
    with pytest.raises(FairgroundError, match="fmr, eer, none or a number; got 'nan'"):
        rule_of(index, "nan")


def test_small_pictures_are_kept_by_row(index, pictures):
    for row in (0, 11):
        assert index.thumbnails[row].startswith(b"\x89PNG")
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
        ("names.json", '{"files": ["a"], "labels": null, "class_names": []}', "do not agree"),
        ("embeddings.npy", "nonsense", "damaged"),
    ],
)
def test_a_damaged_index_is_refused(index, tmp_path, file, content, complaint):
    folder = shutil.copytree(index.folder, tmp_path / "damaged")
    (folder / file).write_text(content)
    with pytest.raises(FairgroundError, match=complaint):
        open_index(folder)


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
    assert "of pairs of different classes" in said.output
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<li") == 24 * 4
    told = json.loads(runner.invoke(app, [*words[:5], "--json"]).stdout)
    assert len(told["answers"]) == 24
    assert told["calibrated"]["fmr"] <= 0.01
