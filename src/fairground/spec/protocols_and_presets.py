"""The protocols and presets of the package, found by name."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairground import spec
from fairground.spec import ROOM_OF, InputError, Value, canonical, nearest, read_text, require

#: the protocols, presets and studies that come with the package
SHIPPED: Path = Path(__file__).parents[1] / "papers" / "protocols"
#: the paper of each family of presets, by what their names begin with
PAPER_OF = {"roth": "roth2020", "mlrc": "mlrc2020"}


@cache
def protocol_names() -> Mapping[str, str]:
    """Return the protocols that can be named, each with the first sentence of its description."""
    found = {}
    for name, text in protocol_texts().items():
        if not protocol_table(name).get("abstract", False):
            lines = [line for line in text.partition("\n[")[0].splitlines() if line.startswith("#")]
            described = " ".join(line.removeprefix("#").strip() for line in lines)
            found[name] = described.partition(". ")[0].rstrip(".") + "."
    return found


@cache
def protocol_texts() -> dict[str, str]:
    paths = [path for path in sorted(SHIPPED.glob("*.toml")) if path.name != "presets.toml"]
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


@cache
def protocol_table(name: str) -> dict[str, Any]:
    """Return what the file of a protocol of the package says; it is read once."""
    return tomllib.loads(protocol_texts()[name])


def presets(loss: str) -> dict[str, dict[str, Value]]:
    """Return the published hyperparameters of a loss by preset; as the text has them, as `roth-cub200-text`."""
    name = canonical("losses", loss)
    written = {preset: preset_of(name, preset) for preset in _presets().get(name, {})}
    as_text = {f"{preset}-text": preset_of(name, f"{preset}-text") for preset in written if "as-run" not in preset}
    return written | {key: text for key, text in as_text.items() if text != written[key.removesuffix("-text")]}


@cache
def _presets() -> dict[str, dict[str, dict[str, Value]]]:
    return read_toml(SHIPPED / "presets.toml")


def preset_of(loss: str, preset: str) -> dict[str, Value]:
    known = _presets().get(loss, {})
    require(len(known) > 0, f"loss {loss} has no presets; write loss={loss}")
    base, family = preset.removesuffix("-text"), preset.partition("-")[0]
    if base != preset and base in known and "as-run" not in base:
        settings = preset_of(loss, base)
        return settings | spec.text_of_preset(PAPER_OF[family], (("loss", loss), ("miner", str(settings["miner"]))))
    hint = f"{nearest(preset, known)} There are: {', '.join(known)}."
    require(preset in known, f"no preset '{preset}' for loss {loss}.{hint}")
    # TOML cannot write None.
    written = {key: None if value == "none" else value for key, value in known[preset].items()}
    parent = written.pop("extends", None)
    settings = {} if parent is None else preset_of(loss, str(parent))
    for part in ("miner", "regulariser", "sampler"):
        if part in written and written[part] != settings.get(part):
            settings = {key: value for key, value in settings.items() if not key.startswith(f"{part}.")}
    return settings | written


def read_toml(path: Path) -> dict[str, Any]:
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def flat_tables(data: Mapping[str, Any], origin: str) -> dict[str, Value]:
    """Turn nested tables into dotted keys; a part's `name` becomes the part's own key."""
    flat: dict[str, Value] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            require(key not in ROOM_OF or "name" in value, f"{origin}: [{key}] needs a name")
            is_part = key in ROOM_OF
            flat |= {key if is_part and inner == "name" else f"{key}.{inner}": item for inner, item in value.items()}
        else:
            flat[key] = value
    return flat
