"""Where methods do not agree by the table of rules: settings of their specs, and fields of their records."""

from fairground.comparison.evidence import Difference, Evidence, is_under
from fairground.comparison.rules import COMPARED, RULES, Rule

UNSAID = "not said"


def find_differences(evidence: Evidence) -> list[Difference]:
    """Return everything that must agree and does not, rule by rule."""
    found = []
    for rule in RULES:
        found += _settings_that_differ(evidence, rule)
        found += _fields_that_differ(evidence, rule)
    return found


def _settings_that_differ(evidence: Evidence, rule: Rule) -> list[Difference]:
    exceptions = (*rule.but, *rule.free(evidence))
    keys = dict.fromkeys(key for settings in evidence.settings.values() for key in settings)
    found = []
    for key in keys:
        if not _is_watched(key, rule) or is_under(key, exceptions):
            continue
        labels = _labels(evidence, rule, key)
        values = {label: evidence.settings[label].get(key, UNSAID) for label in labels}
        if len(set(values.values())) > 1:
            found.append(Difference(rule=rule.name, what=key, values=values, why=rule.why))
    return found


def _fields_that_differ(evidence: Evidence, rule: Rule) -> list[Difference]:
    """Return a difference for each field that the finished runs do not share, those of one method included."""
    found = []
    for what, read in rule.fields.items():
        values = {}
        for label in _labels(evidence, rule, what):
            said = sorted({value or UNSAID for value in set(map(read, evidence.done[label]))})
            values[label] = " or ".join(said) if said else UNSAID
        is_split = len(set(values.values())) > 1 or any(" or " in value for value in values.values())
        if is_split:
            found.append(Difference(rule=rule.name, what=what, values=values, why=rule.why))
    return found


def _labels(evidence: Evidence, rule: Rule, what: str) -> list[str]:
    """Return the methods a setting or field must agree in."""
    freed = evidence.untrained if is_under(what, rule.untrained_may_differ_in) else frozenset()
    return [label for label in evidence.methods if label not in freed]


def _is_watched(key: str, rule: Rule) -> bool:
    if not rule.is_rest:
        return is_under(key, rule.settings)
    return not is_under(key, [*COMPARED, *(owner for other in RULES for owner in other.settings)])
