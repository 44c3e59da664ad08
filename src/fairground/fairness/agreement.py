"""Settings that must agree: the arithmetic most rules share."""

from collections.abc import Callable, Iterable

from fairground.fairness.evidence import Difference, Evidence
from fairground.records.record import RunRecord

UNSAID = "not said"


def is_under(key: str, owners: Iterable[str]) -> bool:
    """Tell whether a dotted setting is one of `owners` or lies below one."""
    return any(key == owner or key.startswith(f"{owner}.") for owner in owners)


def settings_agree(
    evidence: Evidence, *, rule: str, owns: Iterable[str], why: str, but: Iterable[str] = ()
) -> list[Difference]:
    """Return every setting under `owns`, `but` apart, that is not the same for all methods."""
    owners, exceptions = tuple(owns), tuple(but)
    keys = dict.fromkeys(key for settings in evidence.settings.values() for key in settings)
    found = []
    for key in keys:
        if is_under(key, owners) and not is_under(key, exceptions):
            values = {label: settings.get(key, UNSAID) for label, settings in evidence.settings.items()}
            if len(set(values.values())) > 1:
                found.append(Difference(rule=rule, what=key, values=values, why=why))
    return found


def facts_agree(
    evidence: Evidence, *, rule: str, what: str, fact: Callable[[RunRecord], str | None], why: str
) -> list[Difference]:
    """Return one difference when what the finished runs tell is not the same for all methods, or within one."""
    values = {}
    for label, records in evidence.done.items():
        told = sorted({fact(record) or UNSAID for record in records})
        values[label] = " or ".join(told) if told else UNSAID
    is_split = len(set(values.values())) > 1 or any(" or " in value for value in values.values())
    return [Difference(rule=rule, what=what, values=values, why=why)] if is_split else []
