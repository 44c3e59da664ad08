"""Every block of code on every page is run, loaded or checked, as printed."""

import ast
import importlib
import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest

import fairground
from fairground.spec import load_run, load_study
from fairground_site.commands import commands, examples
from tests.docs.blocks import ELSEWHERE, ROOT, TREATMENT, Block, blocks_of, pages
from tests.docs.commands import lines_of, treat
from tests.docs.conftest import Worker

HERE = [block for page in pages() if page not in ELSEWHERE for block in blocks_of(page)]
STUDY_KEYS = {"extends", "question", "methods", "search", "repeats"}


def of(language: str) -> list[Block]:
    return [block for block in HERE if block.language == language]


def test_every_block_has_a_treatment() -> None:
    """`pytest -rP -k treatment tests/docs` prints the list."""
    strange = [block.place for block in HERE if block.language not in TREATMENT]
    assert not strange, f"name a language, or `text`: {strange}"
    plain = [block for block in HERE if TREATMENT[block.language] == "no code"]
    hidden = [block.place for block in plain if re.search(r"^(fairground|python|make) ", block.text, re.MULTILINE)]
    assert not hidden, f"commands must be in `sh` blocks: {hidden}"
    for block in HERE:
        print(f"{block.place}  {block.language}: {block.mark or TREATMENT[block.language]}")
        for line in lines_of(block.text) if block.language == "sh" else ():
            print(f"    {treat(line, is_check_only=block.is_check_only).kind:<7} {line}")


def test_pages_with_tests_of_their_own_have_them() -> None:
    for page, folder in ELSEWHERE.items():
        if (ROOT / page).exists():
            tests = "".join(path.read_text() for path in (ROOT / folder).glob("*.py"))
            assert Path(page).name in tests


@pytest.mark.parametrize("page", sorted({block.page for block in of("python")}))
def test_python_runs_as_printed(
    page: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a block prints is what the `text` right below it shows."""
    names: dict[str, object] = {"__name__": "a_page"}
    blocks = blocks_of(page)
    for block, below in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language != "python":
            continue
        monkeypatch.chdir(place / ("study" if '"tiny"' in block.text else "runs"))
        if block.is_check_only:
            check_imports(block)
            continue
        capsys.readouterr()
        exec(compile(block.text, block.place, "exec"), names)
        if below and below.language == "text" and below.line == block.line + block.text.count("\n") + 3:
            assert capsys.readouterr().out == below.text


def check_imports(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            module = importlib.import_module(node.module)
            assert all(hasattr(module, name.name) for name in node.names), block.place
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("fg."):
            function = getattr(fairground, ast.unparse(node.func).removeprefix("fg."))
            keywords = {word.arg: word.value for word in node.keywords if word.arg}
            inspect.signature(function).bind(*node.args, **keywords)


@pytest.mark.parametrize("block", of("toml"), ids=lambda block: block.place)
def test_specs_load(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "page.toml"
    file.write_text(block.text)
    if STUDY_KEYS & set(tomllib.loads(block.text)):
        assert load_study(str(file)).methods
    else:
        assert load_run(file=file).loss.name


@pytest.mark.parametrize("block", of("sh"), ids=lambda block: block.place)
def test_commands_work(block: Block, work: Worker, place: Path) -> None:
    for shown in blocks_of(block.page):
        name = re.match(r"# (\w+\.toml)\n", shown.text)
        if shown.language == "toml" and name:
            (place / "runs" / name[1]).write_text(shown.text)
    for line in lines_of(block.text):
        told = work(treat(line, is_check_only=block.is_check_only))
        if line.split()[:2] == ["fairground", "train"] and "--protocol" in line:
            asked = line.split()[line.split().index("--protocol") + 1]
            assert json.loads(told)["spec"]["protocol"] == asked


def test_links_between_pages_lead_somewhere() -> None:
    for page in pages():
        text = re.sub(r"```.*?```|`[^`\n]*`", "", (ROOT / page).read_text(), flags=re.DOTALL)
        text = re.sub(r"https://[a-z.]+/fairground-dml/fairground/(?:blob/)?main/", f"{ROOT}/", text)
        for target in re.findall(r"\](?:\(|: )([^)#:\s]+)(?:#[^)]*)?[)\n]", text):
            path = (ROOT / page).parent / target
            assert path.exists(), f"{page}: {target}"
            assert Path(page).name != "README.md" or target.startswith("/"), f"PyPI shows the README alone: {target}"


PACKAGE = ROOT / "src" / "fairground"
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
#: what CONTRIBUTING tells a reader to write
EXAMPLES = {"src/fairground/losses/my_idea.py"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_named_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|csv))`", text)) - EXAMPLES
    missing = [path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src", PACKAGE))]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_modules_named_are_there(page):
    for name in re.findall(r"`(fairground(?:\.\w+)+)", page.read_text(encoding="utf-8")):
        parts = name.split(".")[1:]
        places = [PACKAGE.joinpath(*parts[:n]) for n in (len(parts), len(parts) - 1) if n]
        assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places), name


SHOWN = [(path, line) for path, command in commands() for line in examples(command)]


@pytest.mark.parametrize("path", [path for path, _ in commands()])
def test_help_has_an_example(path: str) -> None:
    shown = [line for command, line in SHOWN if command == path]
    assert any(path.removeprefix("fairground ") in line for line in shown), f"`{path} --help` shows no example"


@pytest.mark.parametrize("line", [line for _, line in SHOWN])
def test_the_example_works(line: str, work: Worker) -> None:
    work(treat(line))
