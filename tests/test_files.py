"""The one opener of files: regular files, at once, or a sentence."""

import os
import socket
from pathlib import Path

import pytest

from fairground.errors import DataError, InputError, StoreError
from fairground.files import MAX_TEXT_BYTES, open_regular, read_bytes, read_csv, read_json, read_text, require_regular


def refusal(path, read=read_bytes, **said) -> str:
    with pytest.raises(DataError) as caught:
        read(path, error=DataError, **said)
    return str(caught.value)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        assert "cannot be" in refusal(tmp_path / "socket") or "cannot read" in refusal(tmp_path / "socket")
    assert "is a pipe, not a plain file" in refusal(tmp_path / "pipe")
    assert "is a pipe, not a plain file" in refusal(tmp_path / "link")
    assert "is a device, not a plain file" in refusal("/dev/zero")
    assert "is a folder, not a plain file" in refusal(tmp_path)
    assert "there is no file of that name" in refusal(tmp_path / "none")
    assert "cannot be the name of a file" in refusal(tmp_path / "a\0b")
    assert "File name too long" in refusal(tmp_path / ("x" * 300))


def test_refusing_leaves_nothing_open(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        refusal(tmp_path)
        refusal("/dev/null")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_that_would_have_to_be_waited_for_is_refused(tmp_path, monkeypatch):
    """What /proc/kmsg does: it calls itself a regular file, and has nothing to read yet."""
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    monkeypatch.setattr("fairground.files.stat.S_ISREG", lambda mode: True)
    try:
        for read in (read_bytes, read_text, read_json, read_csv):
            assert "it has nothing to read yet" in refusal(tmp_path / "pipe", read)
        assert "it has nothing to read yet" in refusal(tmp_path / "pipe", most=9)
        with open_regular(tmp_path / "pipe") as file, pytest.raises(OSError, match="nothing to read yet"):
            file.read(4)
    finally:
        os.close(writer)


def test_a_file_longer_than_it_says_is_not_read_to_its_end():
    if not Path("/proc/self/pagemap").exists():
        pytest.skip("this system has no file that calls itself empty and is not")
    assert "more than the 1,000 bytes" in refusal(Path("/proc/self/pagemap"), most=1000)


def test_the_callers_own_words_name_the_file(tmp_path):
    with pytest.raises(StoreError, match=r"^image 'x' cannot be read: it is not there"):
        open_regular(tmp_path / "x", error=StoreError, what="image 'x'")
    with pytest.raises(InputError):
        require_regular(tmp_path)


def test_text_and_json_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "a.json"
    for content, sentence in (
        (b"\xff\xfe", "is not text in UTF-8 (byte 0)"),
        (b"[1]", "must hold a JSON object; it holds list"),
        (b"{", "is not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' * 200_000, "nested too deeply"),
    ):
        path.write_bytes(content)
        assert sentence in refusal(path, read_json)
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}


def test_a_text_that_is_far_too_long_is_not_read(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        file.truncate(MAX_TEXT_BYTES + 1)
    assert "more than the" in refusal(tmp_path / "a", read_text)
