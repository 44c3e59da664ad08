"""The same batches: as large, and put together alike, unless the sampler is what is compared.

Flaw
    MLRC section 3.1 and the questions on its supplementary page: larger batches hold more pairs and triplets and help
    losses on embeddings most; with batches of 256 instead of 32 FastAP gains enough to join the rest.

The sampler is what is compared when two methods are alike in everything else that may differ. How many images of a
class a batch holds may follow the loss, as in MLRC (4 for losses on pairs, 1 for classification); a flag says so.
"""

from fairground.fairness.agreement import is_under, settings_agree
from fairground.fairness.evidence import Difference, Evidence

OWNS = ("training.batch_size", "sampler")
WHY = "What a batch holds decides what a loss can see: larger batches have more, and harder, pairs."
_OTHERS = ("loss", "miner", "regulariser", "optimiser.loss_lr", "optimiser.loss_weight_decay")


def check(evidence: Evidence) -> list[Difference]:
    """Return the settings that do not agree."""
    free = ("sampler",) if compares_samplers(evidence) else ("sampler.per_class",)
    return settings_agree(evidence, rule="batches", owns=OWNS, why=WHY, but=free)


def compares_samplers(evidence: Evidence) -> bool:
    """Tell whether two methods have different samplers and are otherwise the same method."""
    samplers: dict[tuple, set[tuple]] = {}
    for settings in evidence.settings.values():
        method = tuple(sorted(item for item in settings.items() if is_under(item[0], _OTHERS)))
        sampler = tuple(sorted(item for item in settings.items() if is_under(item[0], ("sampler",))))
        samplers.setdefault(method, set()).add(sampler)
    return any(len(found) > 1 for found in samplers.values())
