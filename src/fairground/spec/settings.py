"""What a setting is: a plain value that fits its annotation, or a refusal in a sentence."""

import ast
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from fairground.errors import require

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]

#: constructor arguments that training supplies by name or, like a sampler's seed, does without; a spec may not set them
SUPPLIED: Mapping[str, frozenset[str]] = {
    "losses": frozenset({"n_classes", "embedding_dim"}),
    "samplers": frozenset({"labels", "batch_size", "super_labels", "seed"}),
    "heads": frozenset({"n_features"}),
    "trunks": frozenset({"channels"}),
    "transforms": frozenset({"preprocessing"}),
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One constructor argument: its annotation as written, and its default if it has one."""

    annotation: str
    default: Value = None
    is_required: bool = False


def check_value(key: str, annotation: str, value: Value) -> Value:
    """Return `value` as the annotation wants it (1 becomes 1.0 for a float), or refuse it in a sentence."""
    fits, result = _fit(ast.parse(annotation, mode="eval").body, value)
    require(fits, f"{key} must be {_words(annotation)}; got {value!r}")
    return result


def _fit(annotation: ast.expr, value: Value) -> tuple[bool, Value]:
    """Match a value against the few shapes of annotation that settings use; shapes unknown here accept anything."""
    if isinstance(annotation, ast.BinOp):
        for side in (annotation.right, annotation.left):
            fits, result = _fit(side, value)
            if fits:
                return fits, result
        return False, value
    if isinstance(annotation, ast.Constant):
        return (value is None if annotation.value is None else True), value
    if isinstance(annotation, ast.Name):
        return _fit_name(annotation.id, value)
    if isinstance(annotation, ast.Subscript):
        return _fit_subscript(annotation, value)
    return True, value


def _fit_name(name: str, value: Value) -> tuple[bool, Value]:
    if name == "float":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number, float(value) if isinstance(value, int) and is_number else value
    if name == "int":
        return isinstance(value, int) and not isinstance(value, bool), value
    kinds: dict[str, type] = {"bool": bool, "str": str, "Path": str}
    return (isinstance(value, kinds[name]) if name in kinds else True), value


def _fit_subscript(annotation: ast.Subscript, value: Value) -> tuple[bool, Value]:
    outer = ast.unparse(annotation.value)
    if outer.endswith("Literal"):
        options = ast.literal_eval(annotation.slice)
        options = options if isinstance(options, tuple) else (options,)
        if value is None and "none" in options:
            # On a command line `none` is nothing, which these settings have a word for.
            return True, "none"
        return any(value == option and type(value) is type(option) for option in options), value
    if outer in {"tuple", "list", "Sequence"}:
        return isinstance(value, list), value
    if outer in {"dict", "Mapping"}:
        return isinstance(value, dict), value
    return True, value


def _words(annotation: str) -> str:
    words = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text", "None": "none"}
    if annotation in words:
        return words[annotation]
    if annotation.startswith("Literal[") and annotation.endswith("]") and "|" not in annotation:
        return "one of " + annotation[len("Literal[") : -1]
    return " or ".join(_words(part.strip()) for part in annotation.split("|")) if "|" in annotation else annotation


def parse_value(text: str) -> Value:
    """Read a TOML value; a bare word is text, `none` is nothing."""
    if text.lower() in ("none", "null"):
        return None
    try:
        value: Value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool | list | dict) else text


def plain_value(value: object) -> Value:
    """Return a literal as JSON would have it: tuples become lists."""
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    assert value is None or isinstance(value, str | int | float | bool), f"{value!r} is no plain default"
    return value
