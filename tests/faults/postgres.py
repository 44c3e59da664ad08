"""A PostgreSQL server for one test module: Debian's, in a temporary folder, reached by a Unix socket alone."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


@contextmanager
def postgres() -> Iterator[str]:
    """Yield the URL of an empty database on a server that is gone afterwards; skip where there is no PostgreSQL."""
    if not _BINARIES:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    binaries = _BINARIES[-1].parent
    # A folder with a short name: the path of a Unix socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="fair-pg-"))
    # The server refuses to run as root.
    as_user = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, pwd.getpwnam("nobody").pw_uid)
    data = folder / "data"
    try:
        make = [*as_user, binaries / "initdb", "-D", data, "-U", "fairground", "-A", "trust", "-N"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, timeout=120)
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = [*as_user, binaries / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        # Not captured: the server would keep the pipe open.
        subprocess.run(
            [*control, "-o", options, "start"], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=120
        )
        try:
            yield f"postgresql+psycopg://fairground@/postgres?host={folder}"
        finally:
            stop = [*control, "-m", "immediate", "stop"]
            subprocess.run(stop, check=True, capture_output=True, cwd=folder, timeout=120)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
