"""The declaration card of every protocol, as `fairground protocol NAME` prints it."""

from fairground.spec.declaration_card import declaration
from fairground.spec.load_run_spec import load_run
from fairground.spec.protocols_and_presets import protocol_names
from fairground_site.markdown import code, prose, table


def protocol_page() -> str:
    """Return the page of all cards."""
    lines = [
        "# Declaration cards\n",
        "Everything in each protocol that affects whether numbers may stand beside each other. What the papers' "
        "protocols follow, and why, is told under [protocols](../protocols.md).\n",
    ]
    for name, about in protocol_names().items():
        card = declaration(load_run(protocol=name, unsaid="(yours to say)"))
        rows = ([heading, prose(words)] for heading, words in card.items())
        lines += [f"## {code(name)}\n", prose(about) + "\n", table(["", ""], rows)]
    return "\n".join(lines)
