"""The generated pages agree with the catalogue, the command line and the package."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import fairground_site
from fairground.papers.published_numbers import published_rows
from fairground.spec import ROOMS, declared, list_room, protocol_names, settings_of
from fairground_site.choosing import PAGE, with_table
from fairground_site.commands import command_page, commands, examples
from fairground_site.components import MATHEMATICAL, component_page, component_pages
from fairground_site.interface import PUBLIC, interface_page
from fairground_site.markdown import block, code, parse_docstring, prose, table
from fairground_site.mathml import formula_html
from fairground_site.protocols import protocol_page
from tests.docs.blocks import ROOT


def test_a_docstring_is_cut_into_its_sections() -> None:
    text = "One sentence\nover two lines.\n\nMore of it.\n\nFormula\n    a = b\n      + c\n\nPaper\n    None.\n"
    found = parse_docstring(text)
    assert (found.first, found.more) == ("One sentence over two lines.", "More of it.")
    assert found.sections == {"Formula": "a = b\n  + c", "Paper": "None."}


def test_text_stays_text() -> None:
    assert prose("a_b * [c] | `d_e|f`") == r"a\_b \* \[c\] \| `d_e|f`"
    assert prose("- no list\n2. nor this") == "\\- no list\n2\\. nor this"
    assert code("a|b") == r"`a\|b`"
    assert table(["x", "y"], [["1", "2"]]) == "| x | y |\n| --- | --- |\n| 1 | 2 |\n"
    assert block("a ``` b").startswith("````{code-block} text")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return component_pages()


@pytest.mark.parametrize("room", ROOMS)
def test_every_component_has_a_page_with_its_docstring_and_settings(room: str, pages: dict[str, str]) -> None:
    for name, first in list_room(room).items():
        page = pages[f"{room}/{name}"]
        assert prose(first) in page
        assert f"[`{name}`]({name}.md)" in pages[f"{room}/index"]
        source = (ROOT / "src/fairground" / room / f"{name}.py").read_text()
        sections = parse_docstring(ast.get_docstring(ast.parse(source)) or "").sections
        assert "Paper" in sections
        for heading, body in sections.items():
            assert f"## {heading}\n" in page
            if heading == "Formula" and room in MATHEMATICAL:
                assert formula_html(body, settings_of(room, name)) in page
            else:
                assert (body if heading == "Formula" else prose(body)) in page
        for setting in settings_of(room, name):
            assert f"| `{setting}` |" in page, (room, name, setting)
        for setting in declared(room, name, "tunable", {}):
            row = next(line for line in page.splitlines() if line.startswith(f"| `{setting}` |"))
            assert row.split(" | ")[3].rstrip(" |"), (room, name, setting)


def test_the_page_of_a_loss_has_defaults_ranges_and_presets() -> None:
    page = component_page("losses", "margin")
    assert "| `margin` | a number | `0.2` | -0.2 to 2 |" in page
    assert '| `count` | `"pairs"`, `"tuples"` | `"pairs"` |  |' in page
    assert "`n_classes` is supplied by the training" in page
    assert "`margin@mlrc`, `margin@mlrc-cub200` |" in page
    assert "| `root` | text | required |  |" in component_page("datasets", "folder")


def test_every_command_and_option_is_on_the_page() -> None:
    page = command_page()
    for path, command in commands():
        assert f"## {path}\n" in page
        for parameter in command.params:
            assert all(option in page for option in parameter.opts if option.startswith("-"))
        for line in examples(command):
            assert line in page


def test_every_public_name_can_be_imported() -> None:
    page = interface_page()
    for entries in PUBLIC.values():
        for module, name in entries:
            assert hasattr(importlib.import_module(module), name), (module, name)
            assert f"### {name}\n" in page


def test_every_protocol_has_its_card() -> None:
    page = protocol_page()
    assert all(f"## `{name}`" in page for name in protocol_names())


def test_pages_are_written_once_and_stale_ones_go(tmp_path: Path) -> None:
    (tmp_path / "components").mkdir()
    (tmp_path / "components" / "gone.md").write_text("old")
    fairground_site.write_pages(tmp_path)
    assert not (tmp_path / "components" / "gone.md").exists()
    page = tmp_path / "components" / "losses" / "triplet.md"
    before = page.stat().st_mtime_ns
    fairground_site.write_pages(tmp_path)
    assert page.stat().st_mtime_ns == before


def test_an_unlisted_page_is_inserted() -> None:
    assert fairground_site.take_in("a\n(every other page)\nz\n", ["z", "index", "new", "a"]) == "a\nnew\nz\n"


def test_choosing_has_the_published_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "PYTHONPATH=docs/_ext python -m fairground_site.choosing"
    papers = ("mlrc2020", "roth2020")
    known = {f"{row.value:.2f}" for paper in papers for row in published_rows(paper)}
    after = page.partition("<!-- end published -->")[2].partition("## What we measured")[0]
    cited = re.findall(r"\d\d?\.\d\d?", after)
    cited = [number for number in cited if number not in ("1.2", "0.6")]  # values of beta
    assert len(cited) > 15
    assert not {number for number in cited if f"{float(number):.2f}" not in known}


def test_choosing_names_every_loss_in_one_family() -> None:
    families = PAGE.read_text(encoding="utf-8").partition("## Families")[2].partition("\n\n")[2].partition("\n\n")[0]
    rows = [line.split("|")[2] for line in families.splitlines()[2:]]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(list_room("losses"))


def test_choosing_is_within_what_was_measured() -> None:
    text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    for heading, most in (("Losses at batch 112", 10), ("Losses at batch 512", 50)):
        part = text.partition(f"### {heading}")[2].partition("\n### ")[0]
        times = dict(re.findall(r"^\| ([a-z_]+) \| ([\d.e+]+) \|", part, re.MULTILINE))
        assert list(times) == list(list_room("losses"))
        others = [float(time) for name, time in times.items() if name != "hierarchical_ap"]
        assert max(others) < most
        assert float(times["hierarchical_ap"]) <= 150
    learnt = text.partition("### Every part of losses learns")[2].partition("\n### ")[0]
    scores = dict(re.findall(r"^\| (\w+) \| \S+ \| \S+ \| \S+ \| (\S+) \|", learnt, re.MULTILINE))
    assert list(scores) == list(list_room("losses"))
    others = [float(score) for name, score in scores.items() if name not in ("circle", "self_distillation")]
    assert 0.23 <= min(others) <= max(others) <= 0.36


def test_the_errata_are_complete_and_name_settings_that_exist() -> None:
    page = (ROOT / "docs/errata.md").read_text(encoding="utf-8")
    listed = [int(number) for number in re.findall(r"^\| E(\d+) \|", page, re.MULTILINE)]
    assert sorted(listed) == list(range(1, 71))
    places = {name: room for room in ("losses", "miners", "samplers", "analysis") for name in list_room(room)}
    named = [pair for pair in re.findall(r"`(\w+)\.(\w+)", page) if pair[0] in places]
    assert len(named) > 10
    for name, setting in named:
        rooms = [room for room in ("losses", "miners", "samplers", "analysis") if name in list_room(room)]
        assert any(setting in settings_of(room, name) for room in rooms), (name, setting)


def test_the_readme_counts_the_parts() -> None:
    said = (ROOT / "README.md").read_text(encoding="utf-8")
    rooms = {"losses": "losses", "miners": "miners", "batch samplers": "samplers", "regularisers": "regularisers"}
    for words, room in (rooms | {"metrics": "metrics"}).items():
        assert f" {len(list_room(room))} {words}" in said, words
