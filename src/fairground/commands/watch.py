"""`fairground watch`: the report's pages in a browser while studies run."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home


def watch(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY|RUN...]",
            help="A study by name or hash, runs by name, or methods by hash (default: everything).",
        ),
    ] = None,
    home: Home = HOME,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; other machines need the token that is printed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 chooses a free one.")] = 8420,
    is_opened: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show studies and runs in a browser while they run; the pages update by themselves.

    An overview of all studies and runs with their learning curves, and for each study the page of `fairground report`.
    It only reads, so it may be started and stopped at any time. Ctrl-C ends it.

    Try: fairground watch --open

    Or: fairground watch laptop/mlrc --port 9000

    Or, from another machine: fairground watch --host 0.0.0.0
    """
    from fairground.dashboard.home import choose
    from fairground.dashboard.page_cache import PageCache
    from fairground.dashboard.server import WatchServer

    chosen = choose(words or [], home)
    cache = PageCache(home.absolute(), chosen)
    with WatchServer(host, port, cache) as server:
        # Whatever trains on this machine comes first.
        if hasattr(os, "nice"):
            os.nice(5)
        cache.start()
        try:
            _announce(server.access.url, home, is_guarded=server.access.token is not None, as_json=as_json)
            if is_opened:
                import webbrowser

                webbrowser.open(server.access.url)
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            pass
        finally:
            cache.end()
    cache.join(timeout=3)
    if cache.is_alive():
        # In the middle of a large drawing: leaving the ordinary way would pull matplotlib from under it, loudly.
        sys.stdout.flush()
        os._exit(0)


def _announce(url: str, home: Path, *, is_guarded: bool, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"url": url, "home": str(home)}), flush=True)
        return
    print(f"watching {home}: {url}", flush=True)
    if is_guarded:
        print("Whoever has this address can read the pages, and the connection is not encrypted.", file=sys.stderr)
    print("Ctrl-C ends it; what runs goes on.", file=sys.stderr)
