"""The files a job needs and leaves, carried between the driver's home and a machine that does not share its disk.

A job whose argument names a `home` and a `spec` works in the folder of that run; one that names `runs` besides reads
theirs. Only whole files travel: the newest checkpoint with the weights it counts on, and what a finished run leaves.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fairground.errors import StoreError
from fairground.files import read_with_digest, write_atomically
from fairground.records.run_folder import RunFolder, checkpoints_newest_first, files_of
from fairground.spec.identity import name_of
from fairground.spec.load import run_from_plain
from fairground.studies.executors.executor import Plain

#: path below the home to content
Files = Mapping[str, bytes]
#: more than this is left where it is: a run that must begin anew still ends with the same digits
LIMIT = 2 << 30


def folders_of(argument: Plain, home: Path) -> list[RunFolder]:
    """Return the folders, under `home`, of the runs this job works on or reads."""
    if "home" not in argument or "spec" not in argument:
        return []
    names = argument.get("runs") or [name_of(run_from_plain(argument["spec"]))]
    return [RunFolder(home, name) for name in names]


def pack(folders: list[RunFolder], home: Path, *, known: Files | None = None) -> dict[str, bytes]:
    """Return the files of these runs worth carrying, except those already `known`, which never change their content."""
    packed: dict[str, bytes] = {}
    for folder in folders:
        for path in [*_finished(folder), *_newest_checkpoint(folder)]:
            name = path.relative_to(home).as_posix()
            try:
                content = path.read_bytes()
            except OSError:  # a newer checkpoint has just taken its place
                continue
            if known is None or known.get(name) != content:
                packed[name] = content
    return packed if sum(map(len, packed.values())) <= LIMIT else {}


def unpack(files: Files, home: Path, folders: list[RunFolder]) -> None:
    """Write the files under `home`, those that vouch for others last; nothing outside these runs' folders."""
    allowed = [folder.path for folder in folders]
    for name in sorted(files, key=lambda name: (name.endswith(".json"), name)):
        path = home / name
        if ".." not in path.parts and any(folder in path.parents for folder in allowed):
            write_atomically(path, files[name])
    for folder in folders:
        _drop_older(folder)


def _finished(folder: RunFolder) -> list[Path]:
    files = (
        folder.spec,
        folder.embeddings,
        folder.queries,
        folder.gallery,
        folder.analyses,
        folder.path / "inputs.json",
    )
    return [path for path in files if path.exists()]


def _newest_checkpoint(folder: RunFolder) -> list[Path]:
    for path in checkpoints_newest_first(folder.checkpoints):
        with suppress(StoreError):
            return files_of(path, read_with_digest(path))
    return []


def _drop_older(folder: RunFolder) -> None:
    needed = {path.name for path in _newest_checkpoint(folder)}
    if needed:
        for path in folder.checkpoints.iterdir():
            if path.name not in needed and path.suffix in (".json", ".safetensors"):
                path.unlink(missing_ok=True)
