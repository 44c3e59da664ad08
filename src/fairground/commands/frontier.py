"""`fairground frontier MODEL DATA`: what fewer dimensions, fewer bits and re-ranking cost or gain, as a page."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np

from fairground import deploy, reporting
from fairground.commands import HOME, Answer, Device, Home, Quiet, Verbatim, require
from fairground.commands.embed import DATA_HELP, MODEL_HELP, SkipUnreadable, readable_inputs


def frontier_command(
    model: Annotated[str, "MODEL", MODEL_HELP],
    data: Annotated[str, "DATA", DATA_HELP],
    out: Annotated[Path, "--output", "-o", "The page to write."] = Path("frontier.html"),
    skip_unreadable: SkipUnreadable = False,
    home: Home = HOME,
    device: Device = "auto",
    quiet: Quiet = False,
) -> Answer:
    """Measure a model's vectors at fewer dimensions, in fewer bits and re-ranked, and write a page.

    Half of the classes fit principal axes and ranges, the other half is measured; intervals are over classes.

    Example: fairground frontier my_model my_photos -o frontier.html
    """
    opened = deploy.open_model(model, home=home, measured=False, device=device)
    with readable_inputs(data, "measuring", is_quiet=quiet, skip_unreadable=skip_unreadable) as (inputs, tell):
        require(inputs.labels is not None, f"'{data}' has no classes: give class folders, or a table with labels")
        assert inputs.labels is not None
        blocks = opened.blocks(inputs.images, tell=lambda done, of: tell("embedding", done, of))
        found = deploy.frontier_of(np.concatenate([*blocks]), inputs.labels, tell=tell)
    reporting.write_frontier(found, title=f"Frontier of {model}", out=out)
    plain = [{**one._asdict(), "interval": asdict(one.interval)} for one in found.points]
    sentences = [reporting.frontier_sentence(found), reporting.ranges_sentence(found)]
    return Answer({"page": str(out), "points": plain}, [*sentences, Verbatim(f"wrote {out}")])
