"""`fairground protocol`: the declaration card of a protocol, or of a spec made from one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fairground.commands import Answer, Config, Verbatim, card_text
from fairground.spec import UNSAID, card_of, load_run, parse_overrides


def protocol(
    name: Annotated[
        str | None, "[NAME]", "Protocol (default: laptop); `fairground list protocols` names them all."
    ] = None,
    overrides: Annotated[Sequence[str], "[KEY=VALUE]...", "Overrides: loss=margin@mlrc-cub200"] = (),
    config: Config = None,
) -> Answer:
    """Show every setting of a protocol that affects comparability.

    Example: fairground protocol mlrc2020-cub200 loss=contrastive@mlrc
    """
    file, changed = None if config is None else Path(config), parse_overrides(overrides)
    card = card_of(load_run(protocol=name, file=file, overrides=changed, unsaid=UNSAID))
    return Answer(card, [Verbatim(card_text(card))])
