"""What travels between nodes: a run's own files, not too much of them, and nowhere but into its folder."""

import pytest

from fairground.errors import InputError
from fairground.records.run_folder import RunFolder
from fairground.studies.executors import file_transfer, ray
from fairground.studies.executors.file_transfer import pack, unpack


def folder_with_spec(home, name="abc123"):
    folder = RunFolder(home, name).make()
    folder.spec.write_bytes(b'{"seed": 1}')
    return folder


def test_a_run_is_packed_and_unpacked_as_it_was(tmp_path):
    folder = folder_with_spec(tmp_path / "here")
    files = pack([folder], tmp_path / "here")
    assert files == {"runs/abc123/spec.json": b'{"seed": 1}'}
    assert pack([folder], tmp_path / "here", known=files) == {}  # what the other side has is not sent again
    unpack(files, tmp_path / "there", [RunFolder(tmp_path / "there", "abc123")])
    assert (tmp_path / "there" / "runs" / "abc123" / "spec.json").read_bytes() == b'{"seed": 1}'


def test_more_than_the_limit_is_left_where_it_is(tmp_path, monkeypatch):
    folder = folder_with_spec(tmp_path)
    monkeypatch.setattr(file_transfer, "LIMIT", 11)
    assert len(pack([folder], tmp_path)) == 1
    monkeypatch.setattr(file_transfer, "LIMIT", 10)
    assert pack([folder], tmp_path) == {}


@pytest.mark.parametrize("name", ["../evil", "runs/abc123/../../evil", "runs/other/spec.json", "evil", "/tmp/evil"])
def test_nothing_is_unpacked_outside_the_folders_of_the_job(tmp_path, name):
    home = tmp_path / "home"
    unpack({name: b"evil"}, home, [RunFolder(home, "abc123")])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_node_with_another_fairground_is_refused():
    with pytest.raises(InputError, match=r"a node of the cluster has fairground 0\.0\.1, the driver"):
        ray._require_same("0.0.1")
