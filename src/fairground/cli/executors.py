"""Options of commands that make many runs."""

from typing import Annotated

import typer

ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where runs happen: inline, processes (this machine) or ray (a cluster).")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="How many runs at once.")]
WorkerThreads = Annotated[int, typer.Option("--threads", min=1, help="Processor threads per run; they fix the digits.")]
Gpus = Annotated[
    float, typer.Option("--gpus", min=0, help="With ray: accelerators per run, a share of one if below 1.")
]
Address = Annotated[str | None, typer.Option("--address", help="The Ray cluster's address; none starts one here.")]
NodeWait = Annotated[
    float | None,
    typer.Option(
        "--node-wait",
        min=0,
        help="With ray: seconds to wait for a node when none is left, before ending resumably (default 300).",
    ),
]
Storage = Annotated[
    str | None,
    typer.Option("--storage", help="Where trials are kept, as postgresql+psycopg://...; by default in a file."),
]
