"""Methods that were run once.

Flaw
    MLRC section 2.1: most papers give no confidence intervals while improvements are in the low single digits; its
    supplementary page: none of the papers does.
"""

from fairground.fairness.evidence import Evidence, Flag


def check(evidence: Evidence) -> list[Flag]:
    """Return one flag for all methods with a single finished run."""
    once = tuple(label for label, records in evidence.done.items() if len(records) == 1)
    if not once:
        return []
    text = f"One run only: {', '.join(once)}."
    why = "Without repeats nobody can tell a better method from a luckier seed (MLRC 2.1)."
    return [Flag(flag="no_repeats", methods=once, text=text, why=why)]
