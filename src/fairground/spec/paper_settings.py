"""Whether a run under a paper's protocol has the paper's settings of its loss, and whether it follows text or code."""

from collections.abc import Mapping

from fairground.spec.catalogue import list_names
from fairground.spec.flatten import flatten
from fairground.spec.identity import to_plain
from fairground.spec.load import load_run
from fairground.spec.presets import presets
from fairground.spec.run import RunSpec
from fairground.spec.settings import Value

#: what the presets of each paper begin with
_PAPERS: Mapping[str, str] = {"roth2020": "roth", "mlrc2020": "mlrc"}
#: within the name of a preset: the released code with its mistakes
_AS_RUN = "as-run"
#: the setting of a sampler that decides between text and code, and what it is in the code
_SAMPLERS: Mapping[str, tuple[str, Value]] = {
    "per_class": ("replace_classes", True),
    "per_class_random": ("uniform_over", "classes"),
    "distance_distribution": ("cost", "roth_code"),
    "greedy_coreset": ("roth_code", True),
}


def paper_settings(spec: RunSpec) -> dict[str, str]:
    """Return the lines for the card of a run under a paper's protocol; nothing for other runs."""
    paper, _, data = spec.protocol.partition("-")
    prefix = _PAPERS.get(paper)
    if prefix is None or spec.training.epochs == 0 or spec.loss.name not in list_names("losses"):
        return {}
    known = {name: settings for name, settings in presets(spec.loss.name).items() if name.startswith(prefix)}
    if not known:
        return {"settings of the loss": f"not the paper's: {paper} does not have {spec.loss.name}"}
    fitting = [name for name, settings in known.items() if _has(spec, name, settings)]
    # The data set's own preset says most; the shortest name is the plainest of those that say the same.
    found = min(fitting, key=lambda name: (not name.endswith(data), len(name)), default=None)
    suggested = min(known, key=lambda name: (not name.endswith(data), len(name)))
    named = f"loss={spec.loss.name}@{found or suggested}"
    lines = {"settings of the loss": f"those of the paper: {named}" if found else f"NOT the paper's: write {named}"}
    if prefix == "roth":
        lines |= {"text or code": _followed(spec.loss.name, found, known)} if found else {}
        lines |= _batches(spec)
    return lines


def _has(spec: RunSpec, preset: str, settings: Mapping[str, object]) -> bool:
    """Tell whether a run has all that a preset says, under its own protocol."""
    theirs = load_run(protocol=spec.protocol, overrides=[f"loss={spec.loss.name}@{preset}"], unsaid="")
    ours, wanted = flatten(to_plain(spec)), flatten(to_plain(theirs))
    said = [key for key in wanted if key in settings or (key.startswith("loss.") and key in ours)]
    return all(ours.get(key) == wanted[key] for key in said)


def _batches(spec: RunSpec) -> dict[str, str]:
    setting, code = _SAMPLERS.get(spec.sampler.name, ("", None))
    if not setting:
        return {}
    is_code = spec.sampler.settings.get(setting) == code
    word = f"sampler.{setting}={str(code).lower()}"
    said = f"as the released code draws them ({word})" if is_code else f"as the text says; {word} is the code as run"
    return {"text or code, batches": said}


def _followed(loss: str, preset: str, known: Mapping[str, object]) -> str:
    if _AS_RUN in preset:
        return "the released code as run, with its mistakes in this loss"
    other = next((name for name in known if _AS_RUN in name and name.endswith(preset.rpartition("-")[2])), None)
    if other is None:
        return "text and released code are the same for this loss"
    return f"the text's definition; loss={loss}@{other} is the released code as run"
