"""`fairground protocol`: the declaration card of a protocol, or of a spec made from one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from fairground.commands import Answer, Config, Verbatim, fitted, terminal_width
from fairground.spec import UNSAID, RunSpec, declaration_card, load_run, parse_overrides, protocol_names


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


def card_of(spec: RunSpec) -> dict[str, str]:
    """Return the declaration card of a run, with what it changes in its protocol."""
    card = declaration_card.declaration(spec)
    if spec.protocol in protocol_names():
        changed = declaration_card.changes(spec, load_run(protocol=spec.protocol, unsaid=UNSAID), unsaid=UNSAID)
        words = "; ".join(f"{key} {change}" for key, change in changed.items())
        card |= {"changed in the protocol": words} if words else {}
        card |= declaration_card.paper_settings(spec)
    return card


def card_text(card: Mapping[str, str]) -> str:
    width, columns = max(map(len, card)), terminal_width(118)
    rows = (f"{heading:<{width}}  {sentence}".rstrip() for heading, sentence in card.items())
    return "\n".join(fitted(row, columns, indent=width + 2) for row in rows)
