"""The page of the Python interface: signatures and docstrings, read from the source."""

import ast
import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairground.commands import options, run_directory
from fairground_site.markdown import block, parse_docstring, prose

#: heading -> where each name is imported from
PUBLIC: Mapping[str, Sequence[tuple[str, str]]] = {
    "Commands as functions": (
        ("fairground", "train"),
        ("fairground", "runs"),
        ("fairground", "compare"),
        ("fairground", "compare_values"),
        ("fairground", "report"),
        ("fairground", "study"),
        ("fairground", "recommend"),
        ("fairground", "load_model"),
        ("fairground.commands.runs", "Run"),
        ("fairground.commands.compare", "MethodComparison"),
        ("fairground.commands.report", "Report"),
        ("fairground.commands.study", "StudyResult"),
        ("fairground.commands.recommend", "RecommendResult"),
        ("fairground.commands.load_model", "LoadedModel"),
    ),
    "Measuring embeddings": (
        ("fairground.evaluation", "evaluate"),
        ("fairground.evaluation", "evaluate_in_detail"),
        ("fairground.evaluation", "evaluate_ensemble"),
        ("fairground.evaluation", "analyse"),
        ("fairground.evaluation", "EmbeddingView"),
        ("fairground.evaluation", "Bootstrap"),
        ("fairground.evaluation", "pretrained_embeddings"),
        ("fairground.analysis.collapse", "collapse_of"),
    ),
    "Specs and runs": (
        ("fairground.spec.load_run_spec", "load_run"),
        ("fairground.spec.run_and_method_names", "name_of"),
        ("fairground.training.run", "run"),
        ("fairground.spec.load_study_spec", "load_study"),
        ("fairground.studies.run_study", "run_study"),
    ),
    "Records and reports": (
        ("fairground.records.store", "Store"),
        ("fairground.records.record", "RunRecord"),
        ("fairground.papers.published_numbers", "published_rows"),
        ("fairground.reporting.study_results", "find_runs"),
        ("fairground.reporting.page", "build_page"),
        ("fairground.reporting.comparison_text", "compare_records"),
    ),
    "Using a trained model": (
        ("fairground.deploy.model_folder", "open_model"),
        ("fairground.deploy.model_folder", "write_model"),
        ("fairground.deploy.embed_images", "UsableModel"),
        ("fairground.deploy.index_folder", "build_index"),
        ("fairground.deploy.index_folder", "open_index"),
        ("fairground.deploy.index_folder", "Index"),
        ("fairground.deploy.index_folder", "add_to_index"),
        ("fairground.deploy.index_folder", "create_index"),
        ("fairground.deploy.index_folder", "add_embeddings"),
        ("fairground.deploy.index_folder", "remove_from_index"),
    ),
    "Base classes for your own components": (
        ("fairground.contracts.loss", "Loss"),
        ("fairground.contracts.miner", "Miner"),
        ("fairground.contracts.regulariser", "Regulariser"),
        ("fairground.contracts.sampler", "BatchSampler"),
        ("fairground.contracts.metric", "RankingMetric"),
        ("fairground.contracts.analysis", "Analysis"),
        ("fairground.contracts.dataset", "Dataset"),
        ("fairground.contracts.loss", "Pairs"),
        ("fairground.contracts.loss", "Triplets"),
    ),
}


def interface_page() -> str:
    """Return the page of public functions and classes."""
    lines = [
        "# Python interface\n",
        "Components are imported from their rooms (`from fairground.losses import TripletLoss`); each has a page "
        "under [components](components/index.md). The other public functions and classes are here.\n",
    ]
    for heading, entries in PUBLIC.items():
        lines.append(f"## {heading}\n")
        for module, name in entries:
            lines += [f"### {name}\n", *_entry(module, name)]
    return "\n".join(lines)


def _entry(module: str, name: str) -> Iterator[str]:
    node = _definition(module, name)
    yield block(f"from {module} import {name}", kind="python")
    if isinstance(node, ast.ClassDef):
        yield _about(node)
        yield from _members(node)
    else:
        yield block(_signature(node), kind="python") + "\n" + _about(node)


def _definition(module: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    found = inspect.unwrap(getattr(importlib.import_module(module), name))
    file = inspect.getsourcefile(found) or ""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    raise AssertionError(f"{file} does not define {name}")


def _members(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        is_public = isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name == "__init__")
        if not (is_public and isinstance(item, ast.FunctionDef)):
            continue
        about = _about(item)
        if about or item.name == "__init__":
            yield block(_signature(item), kind="python") + ("\n" + about if about else "")


def _signature(node: ast.FunctionDef) -> str:
    """Return the lines from `def` to the colon, one argument per line if they are long."""
    node.args = _WithoutOptions().visit(node.args)
    decorators = "".join(f"@{ast.unparse(one)}\n" for one in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = ast.unparse(node.args)
    line = f"def {node.name}({arguments}){returns}"
    if len(line) <= 88:
        return decorators + line
    return f"{decorators}def {node.name}(\n{_one_a_line(node.args)}){returns}"


class _WithoutOptions(ast.NodeTransformer):
    """Leaves the type alone of an annotation that also declares an option of a command."""

    def __init__(self) -> None:
        files = [Path(inspect.getsourcefile(module) or "") for module in (options, run_directory)]
        nodes = [node for file in files for node in ast.parse(file.read_text(encoding="utf-8")).body]
        assigned = [node for node in nodes if isinstance(node, ast.Assign)]
        self.types = {ast.unparse(node.targets[0]): node.value for node in assigned}

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        is_option = ast.unparse(node.value) in ("options", "run_directory") and node.attr in self.types
        return self.visit(self.types[node.attr]) if is_option else node

    def visit_Name(self, node: ast.Name) -> Any:
        return self.types["AnyPath"] if node.id == "AnyPath" else node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.slice, ast.Tuple) and ast.unparse(node.value) == "Annotated":
            return self.visit(node.slice.elts[0])
        return self.generic_visit(node)


def _one_a_line(arguments: ast.arguments) -> str:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    lines = [_argument(one, default) for one, default in zip(positional, defaults, strict=True)]
    if arguments.vararg or arguments.kwonlyargs:
        lines.append(f"*{ast.unparse(arguments.vararg) if arguments.vararg else ''}")
    lines += [_argument(one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    lines += [f"**{ast.unparse(arguments.kwarg)}"] if arguments.kwarg else []
    return "".join(f"    {line},\n" for line in lines)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default is not None else "")


def _about(node: ast.FunctionDef | ast.ClassDef) -> str:
    text = ast.get_docstring(node)
    if not text:
        return ""
    about = parse_docstring(text)
    sections = [f"**{heading}**\n\n{block(body)}" for heading, body in about.sections.items()]
    return "\n\n".join(part for part in (prose(about.first), prose(about.more), *sections) if part) + "\n"
