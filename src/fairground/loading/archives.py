"""Archives are not read: whoever names one is asked to unpack it."""

from pathlib import Path

from fairground.errors import DataError, require

_ENDINGS = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".7z", ".rar")


def refuse_archive(path: Path) -> None:
    """Refuse a file that must be unpacked first."""
    ending = next((one for one in sorted(_ENDINGS, key=len, reverse=True) if path.name.lower().endswith(one)), "")
    folder = path.with_name(path.name[: -len(ending)]) if ending else path
    require(
        not (ending and path.is_file()),
        f"'{path}' is an archive: unpack it and name the folder, like {folder}",
        DataError,
    )
