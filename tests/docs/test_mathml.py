"""Formulas of docstrings become MathML that is well formed and keeps every word."""

import ast
import html
import re
from pathlib import Path
from xml.dom.minidom import parseString

import pytest

from fairground.spec import list_room, settings_of
from fairground_site.components import MATHEMATICAL
from fairground_site.markdown import parse_docstring
from fairground_site.mathml import formula_html
from tests.docs.blocks import ROOT


def line(text: str, *names: str) -> str:
    """Return one line without what surrounds it."""
    return formula_html(text, names).removeprefix('<div class="formula">\n<p>').removesuffix("</p>\n</div>\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d_ap", "<math><mrow><msub><mi>d</mi><mrow><mi>a</mi><mi>p</mi></mrow></msub></mrow></math>"),
        ("e^(x/T)", "<msup><mi>e</mi><mrow><mi>x</mi><mo>/</mo><mi>T</mi></mrow></msup>"),
        ("sum_{k <= R}", "<munder><mo>∑</mo><mrow><mi>k</mi><mo>≤</mo><mi>R</mi></mrow></munder>"),
        ("[x]_+", "<msub><mo>]</mo><mo>+</mo></msub>"),
        ("h+_l", "<msub><msup><mi>h</mi><mo>+</mo></msup><mrow><mi>l</mi></mrow></msub>"),
        ("sqrt(2 - x)", "<msqrt><mn>2</mn><mo>&minus;</mo><mi>x</mi></msqrt>"),
        ("d_i,y_i^2", "<mo>,</mo><msub><mi>y</mi><mi>i</mi></msub></mrow></msub><mrow><mn>2</mn></mrow></msup>"),
        ("x_a.x_n", "<mo>⋅</mo>"),
        ("mean over the anchors", "mean over the anchors"),
        ("`margin` of two", "<code>margin</code> of two"),
    ],
)
def test_a_piece_of_a_formula(text: str, expected: str) -> None:
    assert expected in line(text)


def test_a_setting_is_one_name() -> None:
    assert '<mi mathvariant="normal">norm_weight</mi>' in line("norm_weight * x", "norm_weight")
    assert "<mi>&alpha;</mi>" in line("alpha x", "alpha")


@pytest.mark.parametrize("room", MATHEMATICAL)
def test_every_formula_is_well_formed_and_loses_no_word(room: str) -> None:
    for name in list_room(room):
        source = (Path(ROOT) / "src/fairground" / room / f"{name}.py").read_text(encoding="utf-8")
        formula = parse_docstring(ast.get_docstring(ast.parse(source)) or "").sections["Formula"]
        made = formula_html(formula, settings_of(room, name))
        parseString(html.unescape(made.replace("&lt;", "less").replace("&gt;", "more")))
        shown = html.unescape(re.sub(r"<[^>]+>", "", made))
        for word in re.findall(r"[a-z]{5,}", re.sub(r"\w*_\w*", " ", formula)):
            if word not in {"alpha", "gamma", "delta", "theta", "epsilon"}:
                assert word in shown, (room, name, word)
