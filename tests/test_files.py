"""Files are read or refused in one sentence, and written whole or not at all."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from fairground import files
from fairground.errors import DataError, InputError, StoreError


def refusal(path, read=files.read_bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(path, error=DataError)
    return str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    assert refusal(tmp_path / "none") == f"no such file: '{tmp_path}/none'"
    assert refusal(tmp_path) == f"cannot read '{tmp_path}': Is a directory"
    assert refusal(tmp_path / "a\0b").startswith("cannot read '")
    assert "File name too long" in refusal(tmp_path / ("x" * 300))
    with pytest.raises(StoreError, match=r"^image 'x' cannot be read: no such file$"):
        files.open_file(tmp_path / "x", error=StoreError, what="image 'x'")
    with pytest.raises(InputError):
        files.require_file(tmp_path)


def test_text_and_json_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "a.json"
    for content, sentence in (
        (b"\xff\xfe", "is not text in UTF-8 (byte 0)"),
        (b"[1]", "must hold a JSON object; it holds list"),
        (b"{", "is not JSON"),
        (b"[" * 200_000, "is not JSON"),
    ):
        path.write_bytes(content)
        assert sentence in refusal(path, files.read_json)
    path.write_text('{"a": 1}')
    assert files.read_json(path) == {"a": 1}


def test_a_csv_file_has_named_columns_and_whole_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('\ufeffa, b\n1,"x\ny"\n\n2,z\n')
    table = files.read_csv(path)
    assert (table.columns, table.rows, table.lines) == (["a", "b"], [["1", "x\ny"], ["2", "z"]], [3, 5])
    for text, sentence in (
        ("", "is empty"),
        ("a,a\n1,2\n", "names a column twice"),
        ("a,b\n1\n", "row 1 has 1 cells for 2 columns"),
        ('a,b\n"1,2\n', "is not a readable CSV file"),
    ):
        path.write_text(text)
        assert sentence in refusal(path, files.read_csv)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file.bin"
    files.write_atomically(path, b"old")

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"cannot write .*file.bin': the disk is full"):
        files.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / "link").symlink_to("/dev/null")
    for impossible in (path / "below", tmp_path, tmp_path / "link"):
        with pytest.raises(StoreError, match="cannot write"):
            files.write_atomically(impossible, b"x")


def test_a_kill_at_any_moment_leaves_one_whole_file(tmp_path):
    program = (
        "import sys; from pathlib import Path; from fairground.files import write_atomically\nfor i in range(10**6):\n"
    )
    program += "    write_atomically(Path(sys.argv[1]), bytes([i % 256]) * 300_000); print(i, flush=True)"
    path = tmp_path / "file.bin"
    for kill_after in (1, 4, 9):
        writer = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        while int(writer.stdout.readline()) < kill_after:
            pass
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        content = path.read_bytes()
        assert content == content[:1] * 300_000
    files.sweep(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["file.bin"]


def test_json_with_a_digest_is_refused_if_one_bit_changes(tmp_path):
    path = tmp_path / "a.json"
    body = {"b": [1.5, None, "é"], "a": {}}
    files.write_with_digest(path, body)
    assert files.read_with_digest(path) == body
    assert files.read_json(path)["body"] == body
    whole = path.read_bytes()
    for changed in (b"", whole[:-1], whole + b" ", whole.replace(b"1.5", b"1.4"), whole.replace(b"sha", b"shb")):
        path.write_bytes(changed)
        with pytest.raises(StoreError, match=r"a\.json' does not match its checksum"):
            files.read_with_digest(path)
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(StoreError):
            files.read_with_digest(path)
