"""The names of methods in tables and figures: the loss, other parts that vary, then settings that tell them apart."""

from collections.abc import Collection, Mapping

from fairground.records import grouped
from fairground.spec import differing


def labels_of(flat: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the name of each method by its flat settings; an untrained one is named by its trunk."""
    frozen = {key: spec for key, spec in flat.items() if spec.get("training.epochs") == "0"}
    trained = {key: spec for key, spec in flat.items() if key not in frozen}
    labels = _by_parts(trained, first="loss")
    labels |= {key: f"frozen {label}" for key, label in _by_parts(frozen, first="trunk", among=("head",)).items()}
    for label, keys in grouped((labels[key], key) for key in flat).items():
        varying = differing(flat[key] for key in keys) if len(keys) > 1 else []
        for key in keys if varying else []:
            settings = [f"{name}={flat[key].get(name, 'none')}" for name in varying]
            labels[key] = f"{label}, {', '.join(settings)}"
    return labels


def _by_parts(
    flat: Mapping[str, Mapping[str, str]], *, first: str, among: Collection[str] | None = None
) -> dict[str, str]:
    """Return the name of one part and of the others that vary, of all or `among` some."""
    varying = [key for key in differing(flat.values()) if "." not in key and key != first]
    parts = [key for key in varying if among is None or key in among]
    return {
        key: " + ".join([spec.get(first, key), *(spec[part] for part in parts if spec.get(part, "none") != "none")])
        for key, spec in flat.items()
    }
