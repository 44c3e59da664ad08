"""The page of the Python interface: signatures and docstrings read from the source, nothing imported."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import fairground
from fairground_site.markdown import block, parse_docstring, prose

#: heading -> where each name is imported from, and the file that defines it
PUBLIC: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "The verbs": (
        ("fairground", "train", "commands/train"),
        ("fairground", "runs", "commands/runs"),
        ("fairground", "compare", "commands/compare"),
        ("fairground", "compare_values", "comparison/compare_values"),
        ("fairground", "report", "commands/report"),
        ("fairground", "study", "commands/study"),
        ("fairground", "recommend", "commands/recommend"),
        ("fairground", "load_model", "commands/load_model"),
        ("fairground.commands.runs", "Run", "commands/runs"),
        ("fairground.commands.compare", "MethodComparison", "commands/compare"),
        ("fairground.commands.report", "Report", "commands/report"),
        ("fairground.commands.study", "StudyResult", "commands/study"),
        ("fairground.commands.recommend", "RecommendResult", "commands/recommend"),
        ("fairground.commands.load_model", "LoadedModel", "commands/load_model"),
    ),
    "Measuring embeddings": (
        ("fairground.evaluation", "evaluate", "evaluation/scores"),
        ("fairground.evaluation", "evaluate_in_detail", "evaluation/scores"),
        ("fairground.evaluation", "evaluate_ensemble", "evaluation/ensemble"),
        ("fairground.evaluation", "analyse", "evaluation/analyses"),
        ("fairground.evaluation", "EmbeddingView", "evaluation/view"),
        ("fairground.evaluation", "Bootstrap", "evaluation/bootstrap"),
        ("fairground.evaluation.embed", "pretrained_embeddings", "evaluation/pretrained"),
        ("fairground.functional.spectral", "collapse_of", "functional/spectral"),
    ),
    "Specs and runs": (
        ("fairground.spec.load", "load_run", "spec/load"),
        ("fairground.spec.identity", "name_of", "spec/identity"),
        ("fairground.training.run", "run", "training/run"),
        ("fairground.spec.study_load", "load_study", "spec/study_load"),
        ("fairground.studies.run_study", "run_study", "studies/run_study"),
    ),
    "Records and reports": (
        ("fairground.records.store", "Store", "records/store"),
        ("fairground.records.record", "RunRecord", "records/record"),
        ("fairground.papers.published", "published_rows", "papers/published"),
        ("fairground.reporting.find_runs", "find_runs", "reporting/find_runs"),
        ("fairground.reporting.page", "build_page", "reporting/page"),
        ("fairground.reporting.comparison", "ComparisonResult", "reporting/comparison"),
    ),
    "Using a trained model": (
        ("fairground.deploy.model_folder", "open_model", "deploy/model_folder"),
        ("fairground.deploy.model_folder", "write_model", "deploy/model_folder"),
        ("fairground.deploy.model", "UsableModel", "deploy/model"),
        ("fairground.deploy.index", "build_index", "deploy/index"),
        ("fairground.deploy.index", "open_index", "deploy/index"),
        ("fairground.deploy.index", "Index", "deploy/index"),
        ("fairground.deploy.index", "add_to_index", "deploy/index"),
        ("fairground.deploy.index", "create_index", "deploy/index"),
        ("fairground.deploy.index", "add_embeddings", "deploy/index"),
        ("fairground.deploy.index", "remove_from_index", "deploy/index"),
    ),
    "Contracts, for parts of your own": (
        ("fairground.contracts.loss", "Loss", "contracts/loss"),
        ("fairground.contracts.miner", "Miner", "contracts/miner"),
        ("fairground.contracts.regulariser", "Regulariser", "contracts/regulariser"),
        ("fairground.contracts.sampler", "BatchSampler", "contracts/sampler"),
        ("fairground.contracts.metric", "RankingMetric", "contracts/metric"),
        ("fairground.contracts.analysis", "Analysis", "contracts/analysis"),
        ("fairground.contracts.table", "Dataset", "contracts/dataset"),
        ("fairground.contracts.tuples", "Pairs", "contracts/tuples"),
        ("fairground.contracts.tuples", "Triplets", "contracts/tuples"),
    ),
}
_PACKAGE = Path(fairground.__file__).parent


def interface_page() -> str:
    """Return the page of public functions and classes."""
    lines = [
        "# Python interface\n",
        "Components are imported from their rooms (`from fairground.losses import TripletLoss`); each has a page of "
        "its own among the [components](components/index.md). What else is meant to be called stands here.\n",
    ]
    for heading, entries in PUBLIC.items():
        lines.append(f"## {heading}\n")
        for module, name, file in entries:
            lines += [f"### {name}\n", *_entry(module, name, file)]
    return "\n".join(lines)


def _entry(module: str, name: str, file: str) -> Iterator[str]:
    node = _definition(file, name)
    yield block(f"from {module} import {name}", kind="python")
    if isinstance(node, ast.ClassDef):
        yield _about(node)
        yield from _members(node)
    else:
        yield block(_signature(node), kind="python") + "\n" + _about(node)


def _definition(file: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    tree = ast.parse((_PACKAGE / f"{file}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    raise AssertionError(f"{file}.py defines no {name}")


def _members(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        is_public = isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name == "__init__")
        if not (is_public and isinstance(item, ast.FunctionDef)):
            continue
        about = _about(item)
        if about or item.name == "__init__":
            yield block(_signature(item), kind="python") + ("\n" + about if about else "")


def _signature(node: ast.FunctionDef) -> str:
    """Return the lines from `def` to the colon, one argument a line when they are long."""
    decorators = "".join(f"@{ast.unparse(one)}\n" for one in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = ast.unparse(node.args)
    line = f"def {node.name}({arguments}){returns}"
    if len(line) <= 88:
        return decorators + line
    return f"{decorators}def {node.name}(\n{_one_a_line(node.args)}){returns}"


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
