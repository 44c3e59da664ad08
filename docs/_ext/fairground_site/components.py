"""A page for every component, written from its file: docstring, constructor and `tunable`, none of it imported."""

import ast
import json
from collections.abc import Mapping
from pathlib import Path

import fairground
from fairground.spec.catalogue import ROOMS, class_name, list_room
from fairground.spec.declarations import SUPPLIED, Setting, declared, settings_of
from fairground.spec.protocols_and_presets import presets
from fairground.spec.run_spec import ROOM_OF
from fairground.spec.search_ranges import Choice, LogReal, Range, Real
from fairground_site.markdown import block, code, parse_docstring, prose, table
from fairground_site.mathml import formula_html

_PACKAGE = Path(fairground.__file__).parent
_PART_OF = {room: part for part, room in ROOM_OF.items()}
#: the rooms whose formulas are mathematics; elsewhere they describe files, layers or classes in words
MATHEMATICAL = ("losses", "miners", "regularisers", "metrics", "analysis", "heads")
#: what each room is, for the page that lists it
ROOM_WORDS = {
    "losses": "What is minimised. Every loss takes embeddings `(n, d)` and labels `(n,)`.",
    "miners": "Which pairs or triplets of a batch a loss on tuples sees.",
    "regularisers": "What is added to a loss, or done to its tuples or features.",
    "samplers": "Which images form a batch; see also [batch samplers](../../../samplers.md).",
    "trunks": "Networks from images to features; see also [trunks](../../../trunks.md).",
    "heads": "From features to embeddings.",
    "datasets": "Where images and classes come from; see also [data sets](../../../data.md).",
    "transforms": "From pixels to the input of the network; see also [images](../../../images.md).",
    "splits": "Which classes train, validate and test; see also [splits](../../../data.md#splits).",
    "metrics": "From embeddings to a score; see also [metrics](../../../metrics.md).",
    "analysis": "Measures of the embedding space; see also [analyses](../../../metrics.md#analyses-of-the-space).",
}


def component_pages() -> dict[str, str]:
    """Return every page by its path without suffix: one per component and one per room."""
    pages = {}
    for room in ROOMS:
        names = list_room(room)
        pages[f"{room}/index"] = _room_page(room, names)
        for name in names:
            pages[f"{room}/{name}"] = component_page(room, name)
    return pages


def component_page(room: str, name: str) -> str:
    """Return the page of one component as Markdown."""
    tree = ast.parse((_PACKAGE / room / f"{name}.py").read_text(encoding="utf-8"))
    about = parse_docstring(ast.get_docstring(tree) or "")
    parts = [f"# {code(name)}\n", prose(about.first) + "\n"]
    if about.more:
        parts.append(prose(about.more) + "\n")
    parts += [_section(room, name, heading, body) for heading, body in about.sections.items()]
    definition = _definition(tree, class_name(room, name))
    parts.append(_settings(room, name, definition))
    if room == "losses":
        parts.append(_presets(name))
    parts.append(_use(room, name, definition))
    return "\n".join(part for part in parts if part)


def _room_page(room: str, names: Mapping[str, str]) -> str:
    lines = [f"# {room.capitalize()}\n", ROOM_WORDS[room] + "\n"]
    lines.append(f"There are {len(names)}. `fairground list {room}` prints this list.\n")
    lines.append(
        table(["name", "what it is"], ([f"[{code(name)}]({name}.md)", prose(line)] for name, line in names.items()))
    )
    listed = "\n".join(names)
    return "\n".join([*lines, f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"])


def _section(room: str, name: str, heading: str, body: str) -> str:
    if heading != "Formula":
        content = prose(body) + "\n"
    elif room in MATHEMATICAL:
        content = formula_html(body, settings_of(room, name))
    else:
        # Laid out in lines and columns; as text that flows it could not be read.
        content = block(body, style="formula")
    return f"## {heading}\n\n{content}"


def _settings(room: str, name: str, definition: ast.ClassDef) -> str:
    about = parse_docstring(ast.get_docstring(definition) or "")
    settings, ranges = settings_of(room, name), declared(room, name, "tunable", {})
    words = "\n\n".join(prose(part) for part in (about.first, about.more) if part)
    lines = ["## Settings\n", words + "\n"]
    if settings:
        rows = (
            [code(key), _allowed(ast.parse(one.annotation, mode="eval").body), _default(one), _range(ranges.get(key))]
            for key, one in settings.items()
        )
        lines.append(table(["setting", "allowed", "default", "search range"], rows))
    else:
        lines.append("It has no settings.\n")
    facts = _facts(room, definition)
    if facts:
        lines.append(
            f"In a run, {' and '.join(map(code, facts))} {'are' if len(facts) > 1 else 'is'} supplied by the "
            "training; in Python you pass them.\n"
        )
    if room == "losses" and declared(room, name, "is_learnable", False):
        lines.append("It has weights of its own; their rate is `optimiser.loss_lr`.\n")
    return "\n".join(lines)


def _allowed(annotation: ast.expr) -> str:
    words = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text", "None": "none"}
    if isinstance(annotation, ast.BinOp):
        return f"{_allowed(annotation.left)} or {_allowed(annotation.right)}"
    written = ast.unparse(annotation)
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        options = ast.literal_eval(annotation.slice)
        return ", ".join(code(_toml(option)) for option in (options if isinstance(options, tuple) else (options,)))
    return words.get(written, code(written))


def _default(setting: Setting) -> str:
    return "required" if setting.is_required else code(_toml(setting.default))


def _toml(value: object) -> str:
    """Return a value as it is written in a spec."""
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _range(searched: Range | None) -> str:
    if searched is None:
        return ""
    if isinstance(searched, Choice):
        return ", ".join(code(_toml(option)) for option in searched.options)
    kind = ", logarithmic" if isinstance(searched, LogReal) else "" if isinstance(searched, Real) else ", whole"
    return f"{searched.low:.4g} to {searched.high:.4g}{kind}"


def _facts(room: str, definition: ast.ClassDef) -> list[str]:
    constructors = [one for one in definition.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    arguments = [argument.arg for constructor in constructors for argument in constructor.args.kwonlyargs]
    return [argument for argument in arguments if argument in SUPPLIED.get(room, frozenset())]


def _definition(tree: ast.Module, wanted: str) -> ast.ClassDef:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.lower() == wanted.lower():
            return node
    raise AssertionError(f"no class {wanted}")


def _presets(name: str) -> str:
    found = presets(name)
    if not found:
        return ""
    same: dict[str, list[str]] = {}
    for preset, settings in found.items():
        same.setdefault(_words(settings), []).append(code(f"{name}@{preset}"))
    rows = ([", ".join(names), words] for words, names in same.items())
    return "## Presets\n\nWhat the papers ran, by name, as in `loss=NAME`.\n\n" + table(["name", "what it sets"], rows)


def _words(settings: Mapping[str, object]) -> str:
    return " ".join(
        code(f"{key}={value if isinstance(value, str) else _toml(value)}") for key, value in settings.items()
    )


def _use(room: str, name: str, definition: ast.ClassDef) -> str:
    lines = ["## Use\n", block(f"from fairground.{room} import {definition.name}", kind="python")]
    if room in _PART_OF:
        lines.insert(1, block(f"fairground train {_PART_OF[room]}={name}", kind="sh"))
    return "\n".join(lines)
