"""An index: built, searched exactly, grown and shrunk; a kill or damage is survived."""

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.deploy import DecisionRule, index_search, query_index, rule_of
from fairground.deploy import index_folder as index_module
from fairground.deploy.index_folder import add_embeddings, build_index, create_index, open_index, remove_from_index
from fairground.errors import DataError, InputError, StoreError
from fairground.evaluation import EmbeddingView
from fairground.files import held

WIDTH = 8


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
    assert everything[0].decision.text == "no decision"


@pytest.mark.parametrize("way", ["k_reciprocal", "query_expansion"])
def test_re_ranked_neighbours_are_those_of_the_view_and_decisions_stay(index, pictures, way):
    rule = DecisionRule(n_rows=len(index), threshold=0.9)
    plain, again = (query_index(index, pictures, k=4, rule=rule, rerank=rerank) for rerank in ("none", way))
    assert [one.decision for one in plain] == [one.decision for one in again]
    rows = np.asarray(index.rows)
    view = EmbeddingView(index.model.embed(pictures), range(len(rows)), rows, range(len(rows))).reranked(way)
    expected = [[index.names[row] for row in places] for places in view.neighbour_numbers(4)]
    assert [[near.name for near in one.neighbours] for one in again] == expected
    assert again[0].neighbours[0].similarity <= 1 + 1e-6


def test_four_classes_promise_too_little_and_the_sentence_says_what_would_do(index):
    rule = rule_of(index)
    assert rule.threshold is None
    assert rule.sentence() == (
        "No decision between known and unknown: 4 classes that the model was not trained on can promise a rate of "
        "20.0 % at the lowest, and 5 % takes 19 classes; ask for more with --fpir 20."
    )
    assert rule_of(index, fpir=0.2).threshold is not None


def test_an_index_can_move_and_is_opened_without_its_pictures_or_run(index, tmp_path, pictures):
    assert index.names == sorted(path.relative_to(pictures).as_posix() for path in pictures.rglob("*.png"))
    moved = open_index(shutil.copytree(index.folder, tmp_path / "moved"))
    query = index.model.embed(pictures)[:2]
    assert np.array_equal(moved.search(query, 3).numbers, index.search(query, 3).numbers)
    assert moved.thumbnail(0).startswith(b"\x89PNG")
    assert moved.thumbnail(11).startswith(b"\x89PNG")


def rows_of(seed: int, n: int) -> np.ndarray:
    """Rows of which many are equal or nearly so: ties are where orders go wrong."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(-2, 3, size=(n, WIDTH)) + draw.choice([0, 1e-7], size=(n, 1)) * draw.normal(size=(n, WIDTH))
    rows[:, 0] += 0.5
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


STEP = st.tuples(st.sampled_from(["add", "remove"]), st.integers(1, 40), st.booleans())


@given(steps=st.lists(STEP, min_size=1, max_size=8), is_raw=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_it_answers_as_an_index_built_from_its_rows(steps, is_raw, seed):
    draw = np.random.default_rng(seed)
    rows, names, classes, live = np.empty((0, WIDTH), np.float32), [], [], []
    with tempfile.TemporaryDirectory() as place:
        folder = create_index(Path(place) / "index", width=WIDTH, is_raw=is_raw).folder
        for kind, n, flag in steps:
            if kind == "add":
                # Some names come again; they are replaced where that is asked for.
                added = [f"{int(draw.integers(200))}-{number}" for number in range(n)]
                kinds = [f"class {int(draw.integers(5))}" for _ in range(n)]
                new = rows_of(int(draw.integers(2**32)), n)
                add_embeddings(folder, new, names=added, classes=kinds, replace_names=flag)
                live = [row for row in live if not (flag and names[row] in added)] + [len(names) + i for i in range(n)]
                rows, names, classes = np.concatenate([rows, new]), names + added, classes + kinds
            elif live:
                gone = draw.choice(live, min(n, len(live)), replace=False).tolist()
                by_name = sorted({names[row] for row in gone})
                remove_from_index(folder, **({"names": by_name} if flag else {"ids": gone}))
                live = [row for row in live if (names[row] not in by_name if flag else row not in gone)]
            assert open_index(folder).ids.tolist() == live
        index = open_index(folder)
        assert len(index) == len(live)
        assert index.names == names
        assert [index.label(row) for row in live] == [classes[row] for row in live]
        assert index.class_names == tuple(sorted({classes[row] for row in live}))
        fresh = create_index(Path(place) / "fresh", width=WIDTH, is_raw=is_raw).folder
        if live:
            add_embeddings(fresh, rows[live], names=[names[row] for row in live])
        for k in (1, 7, 1000):
            mine, theirs = index.search(rows_of(98, 3), k), open_index(fresh).search(rows_of(98, 3), k)
            assert np.array_equal(mine.numbers, np.array(live, np.int64)[theirs.numbers])
            assert np.array_equal(mine.similarities, theirs.similarities)


def slow(queries, rows, k, is_raw, removed=()):
    numbers, values = [], []
    for query in queries.astype(np.float64):
        found = [-np.linalg.norm(query - row) if is_raw else float(query @ row) for row in rows.astype(np.float64)]
        order = sorted(set(range(len(rows))) - set(removed), key=lambda row: (-found[row], row))[:k]
        numbers.append(order)
        values.append([found[row] for row in order])
    return np.array(numbers), np.array(values)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("n_queries", [1, 7])
def test_it_agrees_with_a_slow_loop_over_several_blocks(monkeypatch, is_raw, n_queries, threads):
    monkeypatch.setattr(index_search, "BLOCK", 16)
    monkeypatch.setattr(index_search, "QUERIES", 3)
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(50, 6)).astype(np.float32)
    rows = rows if is_raw else rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows[30:34] = rows[11]
    removed = np.array([0, 12, 13, 31, 49])
    queries = np.concatenate([rows[11:12], generator.normal(size=(n_queries - 1, 6)).astype(np.float32)])
    found = index_search.search(queries, rows, 5, is_raw=is_raw, removed=removed, threads=threads)
    numbers, values = slow(queries, rows, 5, is_raw, removed)
    assert found.numbers[0, :4].tolist() == [11, 30, 32, 33]
    assert np.array_equal(found.numbers, numbers)
    assert np.allclose(found.similarities, values, atol=1e-5)


def test_edges_and_refusals():
    rows = np.eye(3, dtype=np.float32)
    assert index_search.search(rows[:1], rows, 10).numbers.tolist() == [[0, 1, 2]]
    assert index_search.search(rows[:1], rows, 10, removed=np.array([0, 2])).numbers.tolist() == [[1]]
    assert index_search.search(
        rows[:1], rows, 2, forbid=lambda _, columns: np.array([[True, True, False]])
    ).numbers.tolist() == [[2, -1]]
    assert index_search.search(rows[:0], rows, 2).numbers.shape == (0, 2)
    with pytest.raises(InputError, match="k must be at least 1; got 0"):
        index_search.search(rows, rows, 0)
    with pytest.raises(InputError, match=r"queries must be \(q, 3\)"):
        index_search.search(rows[:, :2], rows, 1)


@pytest.fixture
def small(tmp_path):
    folder = create_index(tmp_path / "index", width=WIDTH).folder
    for number in range(3):
        names = [f"folder {number}/{row}.png" for row in range(10)]
        add_embeddings(folder, rows_of(number, 10), names=names, classes=["a", "b"] * 5)
    remove_from_index(folder, ids=[3, 17])
    return folder


def test_pictures_are_added_replaced_and_removed(model, pictures, tmp_path):
    folder = tmp_path / "index"
    build_index(model, pictures, folder)
    more = tmp_path / "more"
    shutil.copytree(pictures / "plain", more / "plain")
    shutil.copytree(pictures / "bell", more / "new class")
    change = index_module.add_to_index(folder, more, replace_names=True)
    assert (change.added, change.removed, change.n) == (12, 6, 30)
    index = open_index(folder)
    assert "new class" in index.class_names
    assert all(index.thumbnail(row).startswith(b"\x89PNG") for row in index.ids)
    assert index.search(model.embed(more / "new class"), 1).similarities.min() > 0.9999
    remove_from_index(folder, names=["new class/*"])
    assert "new class" not in open_index(folder).class_names


def test_refusals_are_sentences(small, tmp_path):
    with pytest.raises(DataError, match="no row of this index has the identifier 3, 17, 400"):
        remove_from_index(small, ids=[3, 17, 400])
    with pytest.raises(DataError, match=r"embeddings must be \(n, 8\) with at least one row; got \(2, 3\)"):
        add_embeddings(small, np.zeros((2, 3)), names=["x", "y"], classes=["a", "b"])
    with pytest.raises(DataError, match="must be finite"):
        add_embeddings(small, np.full((1, WIDTH), np.nan), names=["x"], classes=["a"])
    with pytest.raises(DataError, match="rows must have length 1 to be compared by cosine; got 2"):
        add_embeddings(small, 2 * rows_of(0, 1), names=["x"], classes=["a"])
    with held(small / "index.lock", "the index"), pytest.raises(StoreError, match="worked on by another process"):
        remove_from_index(small, ids=[1])
    assert len(open_index(small)) == 28
    plain = create_index(tmp_path / "plain", width=WIDTH).folder
    add_embeddings(plain, rows_of(0, 2), names=["x", "y"])
    assert add_embeddings(plain, rows_of(0, 2), names=["x", "y"], classes=["a", "b"]).has_dropped_classes
    assert open_index(plain).label(3) is None


def test_a_refused_build_leaves_no_folder_and_an_old_index_as_it_was(model, pictures, tmp_path):
    folder, broken = tmp_path / "index", tmp_path / "broken"
    shutil.copytree(pictures, broken)
    next(broken.rglob("*.png")).write_bytes(b"no image")
    with pytest.raises(DataError):
        build_index(model, broken, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]
    build_index(model, pictures, folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(DataError):
        build_index(model, broken, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert len(build_index(model, pictures / "bell", folder)) == 6


@pytest.mark.parametrize("moment", range(9))
def test_a_killed_add_leaves_the_index_as_it_was_or_as_it_should_be(small, moment):
    """A child process is killed at one of its writes to the disk: six files, index.json, its folder."""
    child = os.fork()
    if child == 0:
        writes, fsync = iter(range(100)), os.fsync

        def dying(handle):
            fsync(handle)
            if next(writes) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = dying
        add_embeddings(small, rows_of(9, 5), names=[f"new {row}" for row in range(5)], classes=["c"] * 5)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) == (moment < 8)
    assert len(open_index(small)) == (28 if moment < 7 else 33)
    add_embeddings(small, rows_of(8, 4), names=[f"after {row}" for row in range(4)], classes=["d"] * 4)
    after = open_index(small)
    assert np.array_equal(after.rows[-4:], rows_of(8, 4))
    assert after.names[-1] == "after 3"
    assert after.label(after.info.n - 1) == "d"
    assert len(after.names) == after.info.n == len(after.labels)
    assert not list(small.glob(".*"))


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("index.json", b"{}", "not that of a fairground index"),
        ("rows.f32", b"short", "is damaged .its files do not agree"),
        ("names.jsonl", None, "is damaged"),
    ],
)
def test_a_damaged_index_is_refused(small, file, content, complaint):
    (small / file).unlink() if content is None else (small / file).write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        open_index(small)


@pytest.mark.parametrize("file", ["rows.f32", "labels.i32", "names.jsonl"])
@pytest.mark.parametrize("inserted", [b"", bytes(64)])
def test_changed_bytes_of_an_index_are_noticed(small, file, inserted):
    data = (small / file).read_bytes()
    (small / file).write_bytes(data[:40] + (inserted or bytes([data[40] ^ 1])) + data[40 + (not inserted) :])
    with pytest.raises(DataError, match=f"is damaged .{file} does not match its checksum"):
        open_index(small)


def test_the_commands_from_model_to_page(exported, pictures, tmp_path):
    runner, folder = CliRunner(), str(tmp_path / "i")
    made = runner.invoke(app, ["index", str(exported), str(pictures), "-o", folder])
    assert made.exit_code == 0, made.output
    words = ["query", folder, str(pictures), "-k", "4", "--page", str(tmp_path / "m.html")]
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
    # Every picture is in the index: it finds itself.
    assert {one["decision"]["is_known"] for one in answers["answers"]} == {True}
    several = [str(path) for path in sorted(pictures.rglob("*.png"))[:3]]
    said = runner.invoke(app, ["query", folder, *several, "-k", "1", "--fpir", "25"])
    assert "3 pictures: 3 given a class, 0 unknown." in said.output
    assert "At most 25 % of pictures of unknown classes are given a class of this index of 24 rows" in said.output
    said = runner.invoke(app, ["index", "add", folder, str(pictures)])
    assert said.output == f"{folder}: 24 added, 0 removed; 48 rows\n"
    said = runner.invoke(app, ["query", folder, several[0], "-k", "2", "--json"])
    ids = [one["id"] for one in json.loads(said.stdout)["answers"][0]["neighbours"]]
    assert abs(ids[0] - ids[1]) == 24
    said = runner.invoke(app, ["index", "remove", folder, "--ids", str(ids[0]), "--path", "plain/*", "--json"])
    assert json.loads(said.stdout)["removed"] == 13
