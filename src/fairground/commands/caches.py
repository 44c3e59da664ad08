"""`fairground data caches`: prepared images and outputs of frozen stages on this disk, and how to be rid of them."""

import json
import re
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import AsJson
from fairground.commands.terminal import print_fitted

if TYPE_CHECKING:
    from fairground.loading.resized_images import CacheEntry

_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


def caches(
    remove: Annotated[
        list[str] | None, typer.Option("--remove", help="Remove this one, by enough of its key; may be repeated.")
    ] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Remove those not used for so long: 12h, 30d, 8w.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the caches that data.prepared and training.trainable made, the one longest unused first; remove some.

    A removed cache is built again when it is next asked for. Runs that are reading it are not disturbed.

    Examples: fairground data caches · fairground data caches --older-than 30d
    """
    from fairground.loading.resized_images import find_cache, list_caches, remove_cache

    found = list_caches()
    # All are looked up before any is removed: a mistyped key removes nothing.
    chosen = [find_cache(found, key) for key in remove or []]
    if older_than is not None:
        limit = datetime.now().timestamp() - _seconds(older_than)
        chosen += [entry for entry in found if entry.last_used < limit and entry not in chosen]
    for entry in chosen:
        remove_cache(entry)
    left = [entry for entry in found if entry not in chosen]
    if as_json:
        print(json.dumps({"caches": [asdict(entry) for entry in left], "removed": [asdict(entry) for entry in chosen]}))
        return
    for entry in chosen:
        print_fitted(f"removed {entry.key[:8]}: {_size(entry.n_bytes)}")
    for entry in left:
        used = datetime.fromtimestamp(entry.last_used).strftime("%Y-%m-%d %H:%M")
        print_fitted(
            f"{entry.key[:8]}  {_size(entry.n_bytes):>9}  last used {used}  {_what(entry)}  {entry.source}".rstrip()
        )
    total = sum(entry.n_bytes for entry in left)
    print_fitted(f"{len(left)} caches, {_size(total)}" if left else "no caches are kept here")


def _what(entry: "CacheEntry") -> str:
    if not entry.is_complete:
        return "not finished"
    images = f"{entry.n_images:,} images"
    return (
        f"{images}, side {entry.side}" if entry.side else f"{images}, {entry.n_frozen} frozen stages of {entry.trunk}"
    )


def _seconds(text: str) -> float:
    from fairground.errors import require

    said = re.fullmatch(r"(\d+)([hdw])", text.strip().lower())
    require(said is not None, f"--older-than takes a whole number with h, d or w, like 30d; got '{text}'")
    assert said is not None
    return int(said[1]) * _SECONDS[said[2]]


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.1f} MB"
