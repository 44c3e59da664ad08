"""`fairground protocol`: the declaration card of a protocol, or of a spec made from one."""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fairground.cli.options import AsJson


def protocol(
    name: Annotated[
        str | None, typer.Argument(help="The protocol (default: laptop); `fairground list protocols` names them all.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="What to change: loss=margin@mlrc-cub200")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file with a partial spec.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print everything in a protocol that affects whether numbers may stand beside each other.

    Example: fairground protocol mlrc2020-cub200 loss=contrastive@mlrc
    """
    from fairground.spec.card import declaration
    from fairground.spec.load import load_run

    card = declaration(load_run(protocol=name, file=config, overrides=overrides or [], unsaid="(yours to say)"))
    print(json.dumps(card) if as_json else card_text(card))


def card_text(card: Mapping[str, str]) -> str:
    """Return a card as two columns."""
    width = max(len(heading) for heading in card)
    lines = []
    for heading, words in card.items():
        wrapped = textwrap.wrap(words, 116 - width, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{heading if i == 0 else '':<{width}}  {line}" for i, line in enumerate(wrapped)]
    return "\n".join(lines)
