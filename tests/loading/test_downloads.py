"""`fairground data get` against a server on loopback: made archives in the official layouts."""

import hashlib
import io
import json
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

import fairground as fg
from fairground.commands.main import app
from fairground.errors import DataError, FairgroundError, InputError
from fairground.loading import downloads
from fairground.loading.downloads import DOWNLOADS, Archive, Download
from tests.datasets import pictures


class Mirror(ThreadingHTTPServer):
    """Serves `files`; the first `cuts` answers end after half of what was asked for, and `has_ranges` may be false."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files, self.ranges, self.cuts, self.has_ranges, self.hold = {}, [], 0, True, threading.Event()
        self.hold.set()

    def url(self, name):
        return f"http://127.0.0.1:{self.server_address[1]}/some/{name}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        mirror, asked = self.server, self.headers.get("Range")
        content = mirror.files.get(self.path.rpartition("/")[2])
        start = int(asked[6:-1]) if asked and mirror.has_ranges else 0
        if content is None or 0 < len(content) <= start:
            self.send_error(404 if content is None else 416)
            return
        mirror.ranges.append(asked)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        rest = content[start:]
        self.wfile.write(rest[: len(rest) // 2])
        self.wfile.flush()
        if mirror.cuts:
            mirror.cuts -= 1
            self.connection.close()
            return
        mirror.hold.wait(60)
        self.wfile.write(rest[len(rest) // 2 :])

    def log_message(self, *_):
        pass


@pytest.fixture
def mirror():
    with Mirror() as server:
        threading.Thread(target=partial(server.serve_forever, 0.01), daemon=True).start()
        yield server
        server.hold.set()
        server.shutdown()


@pytest.fixture
def cub(tmp_path, mirror, monkeypatch):
    """The bytes of a small CUB_200_2011.tgz, which the mirror has and the table knows."""
    made, packed = pictures.cub200(tmp_path / "made" / "CUB_200_2011"), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.add(made, "CUB_200_2011")
    content = mirror.files["CUB_200_2011.tgz"] = packed.getvalue()
    name, digest = "CUB_200_2011.tgz", hashlib.sha256(content).hexdigest()
    archive = Archive(file=name, address=mirror.url(name), n_bytes=len(content), sha256=digest)
    monkeypatch.setitem(DOWNLOADS, "cub200", Download(ways=((archive,),), licence="none"))
    return content


def zipped(folder, name="cars196"):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, f"{name}/{file.relative_to(folder)}")
    return packed.getvalue()


def call(*words, code=0):
    done = CliRunner().invoke(app, ["data", "get", *map(str, words)])
    assert done.exit_code == code, done.output
    return done


def is_whole(folder):
    assert len(fg.datasets.Cub200Dataset(root=str(folder), subset=True).load().labels) == 18
    assert [entry.name for entry in folder.parent.iterdir() if entry.name.startswith(folder.name)] == [folder.name]
    return True


def test_a_data_set_is_fetched_counted_and_ready_to_train_on(tmp_path, cub, mirror):
    done = call("cub200", "--to", tmp_path / "a b", "--subset")
    assert is_whole(tmp_path / "a b")
    assert (
        f"next: fairground train --protocol mlrc2020-cub200 data.root='{tmp_path}/a b' data.subset=true" in done.stdout
    )
    assert (
        f"CUB-200-2011 from {mirror.url('CUB_200_2011.tgz')} (0.0 MB)\nlicence: none\ninto: {tmp_path}" in done.stderr
    )
    # A second call looks at what is there and fetches nothing.
    assert json.loads(call("cub200", "--to", tmp_path / "a b", "--subset", "--json").stdout)["folder"].endswith("a b")
    assert mirror.ranges == [None]


def test_other_counts_leave_no_data_set_and_keep_what_was_fetched(tmp_path, cub):
    with pytest.raises(DataError, match=r"has 100 [+] 100 classes.*this copy has 3 [+] 3"):
        fg.get_data("cub200", to=tmp_path / "birds", quiet=True)
    assert not (tmp_path / "birds").exists()
    assert {entry.name for entry in (tmp_path / "birds.download").iterdir()} == {"CUB_200_2011.tgz.part", "lock"}
    assert is_whole(fg.get_data("cub200", to=tmp_path / "birds", subset=True, quiet=True))
    (tmp_path / "other").mkdir()
    with pytest.raises(DataError, match=r"other is there and is not cub200; remove it or name another: "):
        fg.get_data("cub200", to=tmp_path / "other", subset=True, quiet=True)


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_broken_connection_is_continued(tmp_path, cub, mirror, has_ranges):
    mirror.cuts, mirror.has_ranges = 2 if has_ranges else 1, has_ranges
    assert is_whole(fg.get_data("cub200", to=tmp_path / "birds", subset=True, quiet=True))
    half = len(cub) // 2
    quarter = half + (len(cub) - half) // 2
    assert mirror.ranges == [None, f"bytes={half}-", *[f"bytes={quarter}-"] * has_ranges]


def test_a_server_that_stops_is_a_sentence_and_the_next_call_continues(tmp_path, cub, mirror):
    work, half = tmp_path / "birds.download", len(cub) // 2
    work.mkdir()
    (work / "CUB_200_2011.tgz.part").write_bytes(cub[:half])
    (work / "unpacked" / "left by a kill").mkdir(parents=True)
    files = {DOWNLOADS["cub200"].ways[0][0]: "http://127.0.0.1:9/CUB_200_2011.tgz"}
    with pytest.raises(
        FairgroundError, match=rf"cannot fetch .*: {half:,} of {len(cub):,} bytes are here, and the same"
    ):
        downloads.fetch_dataset(files, tmp_path / "birds", check=print, tell=lambda *_: None)
    assert is_whole(fg.get_data("cub200", to=tmp_path / "birds", subset=True, quiet=True))
    assert mirror.ranges == [f"bytes={half}-"]
    assert not (tmp_path / "birds" / "left by a kill").exists()


def test_a_killed_download_continues(tmp_path, mirror):
    content = mirror.files["any.zip"] = zipped(pictures.cars196(tmp_path / "made"))
    mirror.hold.clear()
    words = ["data", "get", "cars196", "--from", mirror.url("any.zip"), "--to", str(tmp_path / "cars"), "--subset"]
    part, program = tmp_path / "cars.download" / "CARS196.zip.part", [sys.executable, "-m", "fairground", *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        end = time.monotonic() + 120
        while not (part.exists() and part.stat().st_size >= len(content) // 2) and time.monotonic() < end:
            time.sleep(0.05)
        first.send_signal(signal.SIGKILL)
    mirror.hold.set()
    assert not (tmp_path / "cars").exists()
    subprocess.run(program, check=True, capture_output=True)
    assert mirror.ranges == [None, f"bytes={len(content) // 2}-"]
    assert len(fg.datasets.Cars196Dataset(root=str(tmp_path / "cars"), subset=True).load().labels) == 18


def test_what_is_not_the_published_file_is_refused_by_size_and_by_hash(tmp_path, cub, mirror):
    own = tmp_path / "mine.tgz"
    for content, said in ((cub[:-1], rf"bytes, not {len(cub):,}"), (cub[:-1] + b"!", "the SHA-256 .*, not ")):
        own.write_bytes(content)
        with pytest.raises(DataError, match=rf"mine.tgz is not the published CUB_200_2011.tgz: it has .*{said}"):
            fg.get_data("cub200", to=tmp_path / "birds", sources=[own], subset=True, quiet=True)
    assert own.exists()
    mirror.files["CUB_200_2011.tgz"] = cub[:-1] + b"!"
    with pytest.raises(DataError, match=r"SHA-256.* was removed: try again, or another --from"):
        fg.get_data("cub200", to=tmp_path / "birds", subset=True, quiet=True)
    assert not (tmp_path / "birds.download" / "CUB_200_2011.tgz.part").exists()
    (tmp_path / "cars.zip").write_bytes(cub[: len(cub) // 2])
    with pytest.raises(DataError, match=r"cars.zip cannot be unpacked: Compressed file ended before"):
        fg.get_data("cars196", to=tmp_path / "cars", sources=[tmp_path / "cars.zip"], quiet=True)
    own.write_bytes(cub)
    assert is_whole(fg.get_data("cub200", to=tmp_path / "birds", sources=[own], subset=True, quiet=True))
    assert own.exists()


def test_the_original_files_of_cars_and_those_of_in_shop(tmp_path, monkeypatch):
    made = pictures.cars196(tmp_path / "made")
    with tarfile.open(tmp_path / "car_ims.tgz", "w:gz") as tar:
        tar.add(made / "car_ims", "car_ims")
    files = [tmp_path / "car_ims.tgz", made / "cars_annos.mat"]
    ways = tuple(Archive(file=file.name, md5=hashlib.md5(file.read_bytes()).hexdigest()) for file in files)
    monkeypatch.setitem(DOWNLOADS, "cars196", Download(ways=(*DOWNLOADS["cars196"].ways[:1], ways), licence="none"))
    folder = fg.get_data("cars196", to=tmp_path / "cars", sources=files, subset=True, quiet=True)
    assert len(fg.datasets.Cars196Dataset(root=str(folder), subset=True).load().labels) == 18
    made = pictures.in_shop(tmp_path / "shop", eval_folder=".", images=".")
    (tmp_path / "img.zip").write_bytes(zipped(made / "img", "img"))
    files = [tmp_path / "img.zip", made / "list_eval_partition.txt"]
    folder = fg.get_data("in_shop", to=tmp_path / "clothes", sources=files, subset=True, quiet=True)
    assert fg.datasets.InShopDataset(root=str(folder), subset=True).load().is_query.sum() == 3


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_an_archive_cannot_write_outside_its_folder(tmp_path, kind):
    path = tmp_path / f"evil.{kind}"
    if kind == "tar":
        with tarfile.open(path, "w") as tar:
            tar.addfile(tarfile.TarInfo("../../evil.txt"))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("../../evil.txt", "evil")
    with pytest.raises(DataError, match=r"evil.*outside"):
        fg.get_data("cars196", to=tmp_path / "inner" / "cars", sources=[path], quiet=True)
    assert not list(tmp_path.rglob("evil.txt"))


@pytest.mark.parametrize("content", [b"<html>sign in</html>", b"PK\x03\x04", b""])
def test_what_is_not_an_archive_is_refused_and_not_kept(tmp_path, mirror, content):
    mirror.files["cars.zip"] = content
    with pytest.raises(
        DataError, match=r"CARS196.zip.part is neither a tar nor a zip.*It came from http.* and was removed"
    ):
        fg.get_data("cars196", to=tmp_path / "cars", sources=[mirror.url("cars.zip")], quiet=True)
    assert not (tmp_path / "cars.download" / "CARS196.zip.part").exists()


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        (["cub20"], InputError, "no data set 'cub20' can be fetched; there are cub200, .*Did you mean 'cub200'"),
        (
            ["in_shop"],
            InputError,
            "cannot be fetched: its authors .* Then type `fairground data get in_shop --from img",
        ),
        (["cars196", "--from", "car_ims.tgz", "--from", "x"], InputError, "CARS196.zip, or car_ims.tgz and cars_annos"),
        (["sop", "--from", "ftp://host/sop.zip"], InputError, "a URL that begins with http:// or https://; got 'ftp"),
        (["sop", "--from", "nowhere.zip"], DataError, "no such file: 'nowhere.zip'"),
    ],
)
def test_mistakes_are_sentences(tmp_path, words, error, sentence):
    done = CliRunner().invoke(app, ["data", "get", *words, "--to", str(tmp_path / "x"), "-q"])
    assert isinstance(done.exception, error)
    assert re.search(sentence, str(done.exception))


def test_an_address_that_is_gone_says_what_to_do(tmp_path, mirror):
    with pytest.raises(FairgroundError, match=r"gone.zip answers 404 Not Found: get the file elsewhere and name it by"):
        fg.get_data("sop", to=tmp_path / "sop", sources=[mirror.url("gone.zip")], quiet=True)


def test_the_list_names_size_hash_address_and_licence():
    said = call().stdout
    assert "CUB_200_2011.tgz, 1.2 GB, https://data.caltech.edu/" in said
    assert "SHA-256 0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081" in said
    assert "CARS196.zip, size not known" in said
    assert "by --from only" in said
    assert {"cub200", "cars196", "sop", "in_shop"} == set(json.loads(call("--json").stdout))
