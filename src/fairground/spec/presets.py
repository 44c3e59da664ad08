"""Named hyperparameters of published work for each loss: `margin@mlrc-cub200` as dotted settings of a run."""

import tomllib
from functools import cache
from importlib import resources

from fairground.errors import require
from fairground.spec.catalogue import canonical, nearest
from fairground.spec.settings import Value

#: parts of a run a preset may name; naming another one forgets the settings of the one before
_PARTS = ("miner", "regulariser", "sampler")


def presets(loss: str) -> dict[str, dict[str, Value]]:
    """Return the presets of a loss by name, each as dotted settings; none for a loss that neither paper has."""
    name = canonical("losses", loss)
    return {preset: _resolve(name, preset) for preset in _tables().get(name, {})}


def preset_settings(loss: str, preset: str) -> dict[str, Value]:
    """Return the dotted settings of one preset, or refuse an unknown name with the nearest."""
    name = canonical("losses", loss)
    known = _tables().get(name, {})
    require(len(known) > 0, f"loss {name} has no presets; write loss={name}")
    require(
        preset in known, f"no preset '{preset}' for loss {name}.{nearest(preset, known)} There are: {', '.join(known)}."
    )
    return _resolve(name, preset)


@cache
def _tables() -> dict[str, dict[str, dict[str, Value]]]:
    text = resources.files("fairground").joinpath("papers", "protocols", "presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _resolve(loss: str, preset: str) -> dict[str, Value]:
    said = dict(_tables()[loss][preset])
    parent = said.pop("extends", None)
    settings = {} if parent is None else _resolve(loss, str(parent))
    for part in _PARTS:
        if part in said and said[part] != settings.get(part):
            settings = {key: value for key, value in settings.items() if not key.startswith(f"{part}.")}
    # TOML has no word for nothing.
    return settings | {key: None if value == "none" else value for key, value in said.items()}
