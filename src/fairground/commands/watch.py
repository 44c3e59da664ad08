"""`fairground watch`: the report's pages in a browser while studies run."""

import json
import os
import sys
from contextlib import suppress
from typing import Annotated

from fairground import reporting
from fairground.commands import HOME, AsJson, Home


def watch(
    home: Home = HOME,
    host: Annotated[str, "Address to listen on; beyond this machine everyone who reaches it can read."] = "127.0.0.1",
    port: Annotated[int, "Port; 0 chooses a free one.", {"min": 0, "max": 65535}] = 8420,
    is_opened: Annotated[bool, "--open", "Open the page in a browser."] = False,
    as_json: AsJson = False,
) -> None:
    """Show studies and runs in a browser while they run; the pages update by themselves.

    An overview of all studies and runs with their learning curves, and for each study the page `fairground report`
    writes. It is read-only, so it may be started and stopped at any time. Ctrl-C ends it.

    Examples: fairground watch --open · fairground watch --port 9000

    Or, from another machine: fairground watch --host 0.0.0.0
    """
    watched = reporting.Watch(home.absolute())
    with reporting.WatchServer(host, port, watched) as server:
        # Training on this machine comes first.
        if hasattr(os, "nice"):
            os.nice(5)
        if as_json:
            print(json.dumps({"url": server.url, "home": str(home)}), flush=True)
        else:
            print(f"watching {home}: {server.url}", flush=True)
            if not server.is_local:
                print("Everyone on this network can read these pages, unencrypted.", file=sys.stderr)
            print("Ctrl-C ends it; runs continue.", file=sys.stderr)
        with suppress(KeyboardInterrupt):
            if is_opened:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever(poll_interval=0.2)
