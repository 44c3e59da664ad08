import json

import pytest

from fairground.errors import StoreError
from fairground.records.checkpoint_files import read_state
from fairground.records.sealed_json import read_sealed, write_sealed

BODY = {"epoch": 3, "loss": 0.1, "rows": [{"epoch": 0, "loss": None}], "best": {"file": "b", "sha256": "0" * 64}}


def test_what_was_written_comes_back_and_is_json_to_everybody(tmp_path):
    path = tmp_path / "a.json"
    write_sealed(path, BODY)
    assert read_sealed(path) == BODY
    assert json.loads(path.read_text())["body"] == BODY


def test_every_single_byte_counts(tmp_path):
    path = tmp_path / "a.json"
    write_sealed(path, BODY)
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        with pytest.raises(StoreError):
            read_state(path)


def test_every_length_but_the_right_one_is_refused(tmp_path):
    path = tmp_path / "a.json"
    write_sealed(path, BODY)
    data = path.read_bytes()
    for wrong in (*(data[:length] for length in range(len(data))), data + b" ", data + data):
        path.write_bytes(wrong)
        with pytest.raises(StoreError):
            read_state(path)


def test_a_checkpoint_of_the_first_version_is_read_without_a_digest(tmp_path):
    path = tmp_path / "00000040.json"
    path.write_text(json.dumps({"epoch": 2, "tensors": "00000040.safetensors", "sha256": "0" * 64}))
    assert read_state(path)["epoch"] == 2
    path.write_text(json.dumps({"epoch": 2, "tensors": "00000041.safetensors", "sha256": "0" * 64}))
    with pytest.raises(StoreError, match="it names another file"):
        read_state(path)
