"""What the pretended runs score."""

import hashlib

from fairground.spec.identity import name_of


def score_of(spec):
    settings = spec.loss.settings
    margin = float(settings.get("margin", settings.get("positive_margin", 0.0)))
    fold = float(spec.split.settings.get("fold", 0))
    noise = int(hashlib.sha256(name_of(spec).encode()).hexdigest()[:6], 16) / 2**24 / 100
    value = 0.6 - 0.1 * (margin - 0.5) ** 2 + 0.01 * fold + noise
    found = {"validation": value}
    return found | {"test": value - 0.05} if spec.evaluation.test else found
