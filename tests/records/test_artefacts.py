import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.errors import InputError, StoreError
from fairground.records.artefacts import RunFolder, checksum, sweep, write_atomically


def test_everything_of_a_run_lives_under_its_name(tmp_path):
    folder = RunFolder(tmp_path, "abc123")
    assert folder.spec == tmp_path / "runs" / "abc123" / "spec.json"
    assert folder.checkpoints.parent == folder.gallery.parent == folder.embeddings.parent == folder.path
    assert not folder.path.exists()
    assert folder.make().checkpoints.is_dir()


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/b", "a\\b", "/etc", "a b", ".hidden", "a\0b", "a\n", "é", "x" * 101]
)
def test_a_name_cannot_point_anywhere_else(tmp_path, name):
    with pytest.raises(InputError, match="a run's name has letters, digits"):
        RunFolder(tmp_path, name)


def test_a_file_is_replaced_whole_and_nothing_else_stays(tmp_path):
    path = tmp_path / "deep" / "file.bin"
    write_atomically(path, b"old")
    write_atomically(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert [file.name for file in path.parent.iterdir()] == ["file.bin"]


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "file.bin"
    write_atomically(path, b"old")

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        StoreError, match=r"cannot write .*file.bin: the disk is full. What was there before is untouched"
    ):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_impossible_folder_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        write_atomically(tmp_path / "file" / "below", b"x")
    with pytest.raises(StoreError, match="cannot write"):
        RunFolder(tmp_path / "file", "abc").make()


def test_a_pipe_a_socket_a_device_and_a_folder_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name, kind in (("pipe", "pipe"), ("folder", "folder"), ("link", "device"), ("socket", "socket")):
            with pytest.raises(StoreError, match=rf"cannot write '.*{name}': it is a {kind}, not a plain file"):
                write_atomically(tmp_path / name, b"x")
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()
    assert len(list(tmp_path.iterdir())) == 4


def test_a_link_to_a_file_is_replaced_and_the_file_stays(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_atomically(tmp_path / "link", b"new")
    assert ((tmp_path / "link").read_bytes(), (tmp_path / "file").read_bytes()) == (b"new", b"old")


def test_a_kill_at_any_moment_leaves_one_whole_file(tmp_path):
    program = (
        "import sys; from pathlib import Path; from fairground.records.artefacts import write_atomically\n"
        "for i in range(10**6):\n"
        "    write_atomically(Path(sys.argv[1]), bytes([i % 256]) * 300_000); print(i, flush=True)"
    )
    path = tmp_path / "file.bin"
    for kill_after in (1, 4, 9):
        writer = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        while int(writer.stdout.readline()) < kill_after:
            pass
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        content = path.read_bytes()
        assert content == content[:1] * 300_000
    for file in tmp_path.glob(".*"):
        os.utime(file, (2e9, 2e9))  # written before the clock went back
    sweep(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["file.bin"]


def test_signed_files_tell_when_they_were_changed(tmp_path):
    folder = RunFolder(tmp_path, "abc").make()
    write_atomically(folder.spec, b"{}")
    write_atomically(folder.gallery, b"pictures")
    assert folder.damaged() == []
    folder.sign()
    assert folder.damaged() == []
    folder.gallery.write_bytes(b"pictureS")
    folder.spec.unlink()
    assert folder.damaged() == ["gallery.npz", "spec.json"]
    folder.manifest.write_bytes(b"{")
    with pytest.raises(StoreError, match=r"manifest.json is damaged"):
        folder.damaged()


def test_the_checksum_is_sha256(tmp_path):
    file = Path(tmp_path / "empty")
    file.write_bytes(b"")
    assert checksum(file) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with pytest.raises(StoreError, match="cannot read"):
        checksum(tmp_path / "missing")
