"""Whatever no other rule watches and is not what is compared.

Flaw
    MLRC section 2.1: small details that are not mentioned can have a big effect on accuracy. A setting that a later
    version adds must not slip through because no rule knew it.
"""

import importlib
import pkgutil

from fairground.fairness import rules
from fairground.fairness.agreement import is_under, settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS: tuple[str, ...] = ()
#: what is compared, and so may differ
COMPARED = ("loss", "miner", "regulariser", "sampler", "optimiser.loss_lr", "optimiser.loss_weight_decay")
WHY = "It is no part of the method, and nobody can tell how much of a difference in score it explains."


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree and have no rule of their own."""
    watched = [*COMPARED]
    for module in pkgutil.iter_modules(rules.__path__):
        watched += importlib.import_module(f"{rules.__name__}.{module.name}").OWNS
    keys = {key for settings in evidence.settings.values() for key in settings}
    rest = sorted(key for key in keys if not is_under(key, watched))
    # By whole names: a key that lies above a watched one must not take it along.
    found = settings_agree(evidence, rule="unforeseen", owns=rest, why=WHY)
    return [difference for difference in found if difference.what in rest]
