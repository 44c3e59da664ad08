"""A method with far less tuning than the others.

Flaw
    MLRC section 2.3 and its supplementary page's list of reported results: the contrastive loss is quoted at 26.4 on
    CUB200 from 2016 to 2019; searched for like the others it reaches 68.1 (MLRC table 4), the level of the newest.
"""

from fairground.fairness.evidence import Evidence, Flag
from fairground.fairness.told import trials_of

#: a fifth of another method's trials is far less
FAR_LESS = 5


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for the methods with at most a fifth of the most trials; nothing said counts as none searched."""
    trials = {label: max((trials_of(r) or 0 for r in records), default=0) for label, records in evidence.done.items()}
    most = max(trials.values(), default=0)
    behind = tuple(label for label, count in trials.items() if most and count * FAR_LESS <= most)
    if not behind:
        return []
    told = ", ".join(f"{label} ({trials[label] or 'none said'})" for label in behind)
    text = f"Far less tuning than the {most} trials of the most tuned method: {told}."
    why = "A baseline at its defaults is easily beaten by anything that was searched for."
    return [Flag(flag="less_tuning", methods=behind, text=text, why=why)]
