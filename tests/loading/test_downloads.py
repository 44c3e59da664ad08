"""`fairground data get` against a server on loopback: made archives in the official layouts."""

import hashlib
import io
import re
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

import fairground as fg
from fairground.commands.main import app
from fairground.errors import DataError, FairgroundError, InputError
from fairground.loading.downloads import DOWNLOADS, Archive, Download
from tests.datasets import pictures
from tests.patience import wait_for


class Handler(BaseHTTPRequestHandler):
    """Serves the `files` of its server; the first `cuts` answers end after half of what was asked for."""

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
        half = start + (len(content) - start) // 2
        self.wfile.write(content[start:half])
        self.wfile.flush()
        if mirror.cuts:
            mirror.cuts -= 1
            self.connection.close()
        elif mirror.goes_on.wait(60):
            self.wfile.write(content[half:])

    def log_message(self, *_):
        pass


@pytest.fixture
def mirror():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.ranges, server.cuts, server.has_ranges = {}, [], 0, True
        server.url = f"http://127.0.0.1:{server.server_address[1]}/some/"
        server.goes_on = threading.Event()
        server.goes_on.set()
        threading.Thread(target=partial(server.serve_forever, 0.01), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def cub(tmp_path, mirror, monkeypatch):
    """The bytes of a small CUB_200_2011.tgz, which the mirror has and the table knows."""
    made, packed, name = pictures.cub200(tmp_path / "made" / "CUB_200_2011"), io.BytesIO(), "CUB_200_2011.tgz"
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.add(made, "CUB_200_2011")
    content = mirror.files[name] = packed.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    archive = Archive(file=name, address=mirror.url + name, n_bytes=len(content), sha256=digest)
    monkeypatch.setitem(DOWNLOADS, "cub200", Download(ways=((archive,),), licence="none"))
    return content


def zipped(folder, top):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, f"{top}/{file.relative_to(folder)}")
    return packed.getvalue()


get = partial(fg.get_data, subset=True, quiet=True)


def is_whole(folder):
    assert len(fg.datasets.Cub200Dataset(root=str(folder), subset=True).load().labels) == 18
    return [entry.name for entry in folder.parent.iterdir() if entry.name.startswith(folder.name)] == [folder.name]


def test_a_data_set_is_fetched_counted_and_ready_to_train_on(tmp_path, cub, mirror):
    words = ["data", "get", "cub200", "--to", str(tmp_path / "a b"), "--subset"]
    done = CliRunner().invoke(app, words)
    assert is_whole(tmp_path / "a b")
    assert f"train --protocol mlrc2020-cub200 data.root='{tmp_path}/a b' data.subset=true" in done.stdout
    assert f"CUB-200-2011 from {mirror.url}CUB_200_2011.tgz (0.0 MB)\nlicence: none\ninto: {tmp_path}" in done.stderr
    # A second call looks at what is there and fetches nothing.
    assert CliRunner().invoke(app, words).exit_code == 0
    assert mirror.ranges == [None]


def test_other_counts_leave_no_data_set_and_keep_what_was_fetched(tmp_path, cub):
    with pytest.raises(DataError, match=r"has 100 [+] 100 classes.*this copy has 3 [+] 3"):
        get("cub200", to=tmp_path / "birds", subset=False)
    assert not (tmp_path / "birds").exists()
    assert {entry.name for entry in (tmp_path / "birds.download").iterdir()} == {"CUB_200_2011.tgz.part", "lock"}
    (tmp_path / "birds.download" / "unpacked" / "left by a kill").mkdir(parents=True)
    assert is_whole(get("cub200", to=tmp_path / "birds"))
    assert not list(tmp_path.rglob("left by a kill"))
    with pytest.raises(DataError, match=r"made is there and is not cub200; remove it or name another: "):
        get("cub200", to=tmp_path / "made", subset=False)


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_broken_connection_is_continued(tmp_path, cub, mirror, has_ranges):
    mirror.cuts, mirror.has_ranges = 2 if has_ranges else 1, has_ranges
    assert is_whole(get("cub200", to=tmp_path / "birds"))
    half = len(cub) // 2
    assert mirror.ranges == [None, f"bytes={half}-", *[f"bytes={half + (len(cub) - half) // 2}-"] * has_ranges]


def test_a_killed_download_continues(tmp_path, mirror):
    content = mirror.files["any.zip"] = zipped(pictures.cars196(tmp_path / "made"), "cars196")
    mirror.goes_on.clear()
    words = ["data", "get", "cars196", "--from", f"{mirror.url}any.zip", "--to", str(tmp_path / "cars"), "--subset"]
    part, program = tmp_path / "cars.download" / "CARS196.zip.part", [sys.executable, "-m", "fairground", *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        wait_for(lambda: part.exists() and part.stat().st_size >= len(content) // 2, first)
        first.send_signal(signal.SIGKILL)
    mirror.goes_on.set()
    assert not (tmp_path / "cars").exists()
    subprocess.run(program, check=True, capture_output=True)
    assert mirror.ranges == [None, f"bytes={len(content) // 2}-"]
    assert len(fg.datasets.Cars196Dataset(root=str(tmp_path / "cars"), subset=True).load().labels) == 18


def test_what_is_not_the_published_file_is_refused_by_size_and_by_hash(tmp_path, cub, mirror):
    own = tmp_path / "mine.tgz"
    for content, said in ((cub[:-1], rf"bytes, not {len(cub):,}"), (cub[:-1] + b"!", "the SHA-256 .*, not ")):
        own.write_bytes(content)
        with pytest.raises(DataError, match=rf"mine.tgz is not the published CUB_200_2011.tgz: it has .*{said}"):
            get("cub200", to=tmp_path / "birds", sources=[own])
    mirror.files["CUB_200_2011.tgz"] = cub[:-1] + b"!"
    with pytest.raises(DataError, match=r"SHA-256.* was removed: try again, or another --from"):
        get("cub200", to=tmp_path / "birds")
    own.write_bytes(cub[: len(cub) // 2])
    with pytest.raises(DataError, match=r"mine.tgz cannot be unpacked: Compressed file ended before"):
        get("cars196", to=tmp_path / "birds", sources=[own])
    own.write_bytes(cub)
    assert is_whole(get("cub200", to=tmp_path / "birds", sources=[own]))
    assert own.exists()


def test_the_original_files_of_cars_and_those_of_in_shop(tmp_path, monkeypatch):
    made = pictures.cars196(tmp_path / "made")
    with tarfile.open(tmp_path / "car_ims.tgz", "w:gz") as tar:
        tar.add(made / "car_ims", "car_ims")
    files = [tmp_path / "car_ims.tgz", made / "cars_annos.mat"]
    way = tuple(Archive(file=file.name, md5=hashlib.md5(file.read_bytes()).hexdigest()) for file in files)
    monkeypatch.setitem(DOWNLOADS, "cars196", Download(ways=(*DOWNLOADS["cars196"].ways[:1], way), licence="none"))
    assert (get("cars196", to=tmp_path / "cars", sources=files) / "cars_annos.mat").is_file()
    made = pictures.in_shop(tmp_path / "shop", eval_folder=".", images=".")
    (tmp_path / "img.zip").write_bytes(zipped(made / "img", "img"))
    files = [tmp_path / "img.zip", made / "list_eval_partition.txt"]
    assert (get("in_shop", to=tmp_path / "clothes", sources=files) / "img" / "WOMEN").is_dir()


def evil(kind):
    """The bytes of an archive with one file, outside its folder."""
    content = io.BytesIO()
    if kind == "tar":
        with tarfile.open(fileobj=content, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("../../evil.txt"))
    else:
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("../../evil.txt", "evil")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (evil("tar"), "cannot be unpacked: .*evil.txt.* outside the destination"),
        (evil("zip"), "would put '../../evil.txt' outside its folder"),
        (b"<html>sign in</html>", "is neither a tar nor a zip archive"),
        (b"", "is neither a tar nor a zip archive"),
    ],
)
def test_an_archive_that_cannot_be_used_is_not_kept(tmp_path, mirror, content, sentence):
    mirror.files["cars.zip"] = content
    with pytest.raises(DataError, match=rf"CARS196.zip.part {sentence}.* It came from http.* and was removed"):
        get("cars196", to=tmp_path / "inner" / "cars", sources=[f"{mirror.url}cars.zip"])
    assert not list(tmp_path.rglob("*evil.txt"))
    assert not (tmp_path / "inner" / "cars.download").exists()


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        (["cub20"], InputError, "no data set 'cub20' can be fetched; there are cub200, .*Did you mean 'cub200'"),
        (["in_shop"], InputError, "cannot be fetched: its authors .* Then type `fairground data get in_shop --from"),
        (["cars196", "--from", "car_ims.tgz", "--from", "x"], InputError, "CARS196.zip, or car_ims.tgz and cars_annos"),
        (["sop", "--from", "ftp://host/sop.zip"], InputError, "a URL that begins with http:// or https://; got 'ftp"),
        (["sop", "--from", "nowhere.zip"], DataError, "no such file: 'nowhere.zip'"),
        (["sop", "--from", "http://127.0.0.1:9/s"], FairgroundError, "0 of 3,083,860,082 bytes are here, and the same"),
        (["sop", "--from", "MIRROR"], FairgroundError, "answers 404 Not Found: get the file elsewhere and name it by"),
    ],
)
def test_mistakes_are_sentences(tmp_path, mirror, words, error, sentence):
    words = [word.replace("MIRROR", mirror.url) for word in words]
    found = CliRunner().invoke(app, ["data", "get", *words, "--to", str(tmp_path / "x"), "-q"]).exception
    assert isinstance(found, error)
    assert re.search(sentence, str(found))


def test_the_list_names_size_hash_address_and_licence():
    said = CliRunner().invoke(app, ["data", "get"]).stdout
    assert "CUB_200_2011.tgz, 1.2 GB, https://data.caltech.edu/" in said
    assert "SHA-256 0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081" in said
    assert "CARS196.zip, size not known" in said
