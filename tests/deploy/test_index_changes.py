"""An index that lives: whatever was added and removed, it answers as one made anew; a kill or damage is survived."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.deploy.index import build_index, open_index
from fairground.deploy.index_changes import add_embeddings, add_to_index, create_index, remove_from_index
from fairground.deploy.index_compaction import check_index, compact_index
from fairground.errors import DataError, FairgroundError, StoreError
from fairground.records.lock import held

WIDTH = 8
KILLED = Path(__file__).with_name("killed_change.py")


def rows_of(seed: int, n: int) -> np.ndarray:
    """Rows of which many are equal or nearly so: ties are where orders go wrong."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(-2, 3, size=(n, WIDTH)) + draw.choice([0, 1e-7], size=(n, 1)) * draw.normal(size=(n, WIDTH))
    rows[:, 0] += 0.5
    return rows.astype(np.float32)


def require_as_made_anew(folder: Path, rows: np.ndarray, names: list[str], classes: list[str], is_raw: bool) -> None:
    index = open_index(folder)
    assert index.names == tuple(names)
    assert [index.label(row) for row in range(len(index))] == classes
    assert [index.name(row) for row in range(len(index))] == names
    assert np.array_equal(np.asarray(index.embeddings), rows)
    with tempfile.TemporaryDirectory() as place:
        fresh = create_index(Path(place) / "anew", width=WIDTH, is_raw=is_raw)
        if len(rows):
            add_embeddings(fresh.folder, rows, names=names, classes=classes)
        fresh = open_index(fresh.folder)
        assert index.class_names == fresh.class_names
        for queries in (rows_of(99, 1), rows_of(98, 5)):
            for k in (1, 7, 1000):
                mine, theirs = index.search(queries, k), fresh.search(queries, k)
                assert np.array_equal(mine.numbers, theirs.numbers)
                assert np.array_equal(mine.similarities, theirs.similarities)


STEP = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 40), st.booleans()),
    st.tuples(st.just("remove"), st.integers(1, 30), st.booleans()),
    st.tuples(st.just("compact"), st.just(0), st.booleans()),
)


@given(steps=st.lists(STEP, min_size=1, max_size=8), is_raw=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_it_answers_as_an_index_made_anew(steps, is_raw, seed):
    draw = np.random.default_rng(seed)
    rows, names, classes, ids = np.empty((0, WIDTH), np.float32), [], [], []
    made = 0
    with tempfile.TemporaryDirectory() as place:
        folder = create_index(Path(place) / "index", width=WIDTH, is_raw=is_raw).folder
        for kind, n, flag in steps:
            if kind == "add":
                new = rows_of(int(draw.integers(2**32)), n)
                # Some names come again; they are replaced where that is asked for.
                added = [f"{int(draw.integers(200))}-{number}" for number in range(n)]
                kinds = [f"class {int(draw.integers(5))}" for _ in range(n)]
                add_embeddings(folder, new, names=added, classes=kinds, replace_names=flag)
                stays = [row for row, name in enumerate(names) if not (flag and name in set(added))]
                rows = np.concatenate([rows[stays], new])
                names = [names[row] for row in stays] + added
                classes = [classes[row] for row in stays] + kinds
                ids = [ids[row] for row in stays] + list(range(made, made + n))
                made += n
            elif kind == "remove" and names:
                gone = set(draw.choice(len(names), min(n, len(names)), replace=False).tolist())
                if flag:
                    gone = {row for row, name in enumerate(names) if name in {names[one] for one in gone}}
                    remove_from_index(folder, names=sorted({names[row] for row in gone}))
                else:
                    remove_from_index(folder, ids=[ids[row] for row in gone])
                stays = [row for row in range(len(names)) if row not in gone]
                rows, names = rows[stays], [names[row] for row in stays]
                classes, ids = [classes[row] for row in stays], [ids[row] for row in stays]
            elif kind == "compact":
                assert compact_index(folder).n_segments == (1 if names else 0)
                assert len(list((folder / "segments").glob("*"))) <= 1 if (folder / "segments").exists() else True
            assert open_index(folder).ids.tolist() == ids
        assert check_index(folder) == []
        require_as_made_anew(folder, rows, names, classes, is_raw)


@pytest.fixture
def small(tmp_path):
    return make_small(tmp_path / "index")


def make_small(folder: Path) -> Path:
    create_index(folder, width=WIDTH)
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
    change = add_to_index(folder, more, replace_names=True)
    assert (change.added, change.removed, change.n, change.n_segments) == (12, 6, 30, 2)
    index = open_index(folder)
    assert "new class" in index.class_names
    for row in range(len(index)):
        assert index.thumbnail(row).startswith(b"\x89PNG")
    assert index.search(model.embed(more / "new class"), 1).similarities.min() > 0.9999
    remove_from_index(folder, names=["new class/*"])
    assert "new class" not in open_index(folder).class_names
    before = open_index(folder)
    compact_index(folder)
    index = open_index(folder)
    assert index.names == before.names
    assert index.ids.tolist() == before.ids.tolist()
    assert [index.thumbnail(row) for row in range(24)] == [before.thumbnail(row) for row in range(24)]


def test_refusals_are_sentences(small, model, pictures, tmp_path):
    with pytest.raises(DataError, match="no row of this index has the identifier 3, 17, 400"):
        remove_from_index(small, ids=[3, 17, 400])
    with pytest.raises(DataError, match=r"no row of this index has the name 'folder 1/99.png'. Did you mean"):
        remove_from_index(small, names=["folder 1/99.png"])
    with pytest.raises(FairgroundError, match="say which rows to remove"):
        remove_from_index(small)
    with pytest.raises(DataError, match="the rows of this index have classes"):
        add_embeddings(small, rows_of(0, 1), names=["x"])
    with pytest.raises(DataError, match=r"embeddings must be \(n, 8\) with a row at least; got \(2, 3\)"):
        add_embeddings(small, np.zeros((2, 3)), names=["x", "y"], classes=["a", "b"])
    with pytest.raises(DataError, match="one name"):
        add_embeddings(small, rows_of(0, 2), names=["x"], classes=["a", "b"])
    with pytest.raises(DataError, match="must be finite"):
        add_embeddings(small, np.full((1, WIDTH), np.nan), names=["x"], classes=["a"])
    with pytest.raises(FairgroundError, match="is there already; name a new folder"):
        create_index(small, width=3)
    with (
        held(small / "index.lock", "the index"),
        pytest.raises(StoreError, match="is being worked on by another process"),
    ):
        remove_from_index(small, ids=[1])
    assert len(open_index(small)) == 28
    plain = create_index(tmp_path / "plain", width=WIDTH).folder
    add_embeddings(plain, rows_of(0, 2), names=["x", "y"])
    assert add_embeddings(plain, rows_of(0, 2), names=["x", "y"], classes=["a", "b"]).has_dropped_classes
    assert open_index(plain).label(3) is None


def test_an_open_index_stays_what_it_was(small):
    before = open_index(small)
    query = rows_of(5, 1)
    expected = before.search(query, 5)
    remove_from_index(small, ids=before.ids[expected.numbers[0]].tolist())
    compact_index(small)
    again = before.search(query, 5)
    assert np.array_equal(again.numbers, expected.numbers)
    assert not set(open_index(small).ids.tolist()) & set(before.ids[expected.numbers[0]].tolist())


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Copies of one index, each with a change that was killed at another moment."""
    root = tmp_path_factory.mktemp("killed")
    before = make_small(root / "before")
    copies = {}
    for change in ("add", "replace", "remove", "compact"):
        for moment in range(0, 16, 2):
            copies[change, moment] = shutil.copytree(before, root / f"{change}-{moment}")
    words = [f"{change}:{moment}:{folder}" for (change, moment), folder in copies.items()]
    subprocess.run([sys.executable, str(KILLED), *words], check=True)
    return before, copies


@pytest.mark.parametrize("change", ["add", "replace", "remove", "compact"])
def test_a_kill_at_any_moment_leaves_the_index_as_it_was_or_as_it_should_be(killed, change):
    before = open_index(killed[0])
    outcomes = set()
    for folder in (folder for (kind, _), folder in killed[1].items() if kind == change):
        after = open_index(folder)
        assert check_index(folder) == []
        is_as_before = after.names == before.names and after.ids.tolist() == before.ids.tolist()
        assert is_as_before or len(after) == {"add": 33, "replace": 28, "remove": 26, "compact": -1}[change]
        outcomes.add((is_as_before, len(after.segments)))
        # Whatever was left lying is cleared away by the next change.
        remove_from_index(folder, ids=[after.ids[0]])
        compact_index(folder)
        assert len(list((folder / "segments").iterdir())) == 1
        assert not list(folder.glob("removed-*"))
        assert not list(folder.glob(".*"))
        assert len(open_index(folder)) == len(after) - 1
    # Some were killed before the change counted, some after.
    assert len(outcomes) == 2


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("segments/000002/ids.npy", b"nonsense", "not readable as an array"),
        ("segments/000002/codes.npy", None, "cannot read"),
        ("segments/000003/names.npy", None, "cannot read"),
        ("segments/000001/labels.npy", np.full(10, 7, np.int32), "do not agree"),
        ("segments/000001/labels.npy", np.full(10, -1, np.int32), "do not agree"),
        ("segments/000002/ids.npy", np.zeros(10, np.int64), "do not agree"),
        ("segments/000002/ids.npy", np.arange(10), "do not agree"),
        ("segments/000002/embeddings.npy", np.zeros((10, WIDTH + 1), np.float32), "do not agree"),
        ("segments/000002/embeddings.npy", np.zeros((10, WIDTH), np.dtype(">f4")), "do not agree"),
        ("segments/000002/bounds.npy", np.zeros((3, 9), np.float32), "do not agree"),
        ("segments/000002/bounds.npy", np.full((3, 10), np.nan, np.float32), "not finite"),
        ("segments/000002/segment.json", b"[]", "must hold a JSON object"),
        ("segments/000002/segment.json", b"{}", "class_names must be a list"),
    ],
)
def test_damaged_segments_are_refused_in_a_sentence(small, file, content, complaint):
    path = small / file
    if content is None:
        path.unlink()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with pytest.raises(FairgroundError, match=complaint):
        open_index(small).search(rows_of(0, 1), 3)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("segments", [{"name": "../../etc", "n": 1, "files": {}}]),
        ("segments", [{"name": "000001", "n": -1, "files": {}}]),
        ("segments", [{"name": "000001", "n": 10, "files": {"../x": ""}}]),
        ("segments", [{"n": 10}]),
        ("segments", 7),
        ("removed", {"file": "/etc/passwd", "n": 1, "sha256": ""}),
        ("removed", {"file": "removed-x.npy", "n": 2, "sha256": ""}),
        ("width", 2**80),
        ("width", 9),
        ("next_id", 1),
        ("is_raw", "no"),
        ("n", 29),
        ("version", 1),
    ],
)
def test_a_hostile_manifest_is_refused_in_a_sentence(small, key, value):
    held_now = json.loads((small / "index.json").read_text())
    (small / "index.json").write_text(json.dumps({**held_now, key: value}))
    with pytest.raises(DataError, match=r"damaged|do not agree|another version|cannot read"):
        open_index(small)


def test_changed_bytes_are_found_and_never_joined(small):
    path = small / "segments" / "000002" / "embeddings.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert check_index(small) == [str(path)]
    with pytest.raises(DataError, match=r"000002/embeddings.npy is damaged: it is not as it was written"):
        compact_index(small)
    said = CliRunner().invoke(app, ["index", "check", str(small)])
    assert (said.exit_code, said.output) == (1, f"damaged: {path}\n")


@pytest.mark.parametrize("file", ["names.bin", "names.npy", "segment.json"])
def test_a_row_is_never_called_by_a_changed_name(small, file):
    path = small / "segments" / "000001" / file
    content = bytearray(path.read_bytes())
    place = content.index(b'["') + 2 if file == "segment.json" else len(content) - 8
    content[place] ^= 1
    path.write_bytes(content)
    assert check_index(small) == [str(path)]
    with pytest.raises(DataError, match=rf"000001/{file} is damaged"):
        open_index(small).name(0)


def test_the_approximate_search_goes_with_the_rows_it_was_made_for(small, monkeypatch):
    pytest.importorskip("faiss", reason="faiss is not installed")
    compact_index(small, with_approximate=True)
    assert open_index(small).has_approximate
    change = remove_from_index(small, ids=[5])
    assert change.has_dropped_approximate
    with pytest.raises(FairgroundError, match="compact --approximate"):
        open_index(small).search(rows_of(0, 1), 3, how="approximate")


def test_the_commands(exported, pictures, tmp_path):
    runner = CliRunner()
    folder = str(tmp_path / "i")
    assert runner.invoke(app, ["index", str(exported), str(pictures), "-o", folder]).exit_code == 0
    said = runner.invoke(app, ["index", "add", folder, str(pictures)])
    assert said.output == f"{folder}: 24 added, 0 removed; 48 rows in 2 segments\n"
    words = ["query", folder, str(next(pictures.rglob("*.png"))), "-k", "2", "--json"]
    ids = [one["id"] for one in json.loads(runner.invoke(app, words).stdout)["answers"][0]["neighbours"]]
    assert abs(ids[0] - ids[1]) == 24
    said = runner.invoke(app, ["index", "remove", folder, "--ids", str(ids[0]), "--path", "plain/*", "--json"])
    assert json.loads(said.stdout)["removed"] in (12, 13)
    said = runner.invoke(app, ["index", "compact", folder])
    assert said.output.startswith(f"{folder}: joined; 3")
    assert runner.invoke(app, ["index", "check", folder]).output == "sound\n"
    assert "add" in runner.invoke(app, ["index", "--help"]).output
