"""`fairground report`: what it writes from a home, from runs by name and from a study, and what it refuses."""

import json

import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.errors import InputError
from fairground.records.store import Store
from tests.reporting.fixtures import make_study


@pytest.fixture
def home(tmp_path):
    Store(tmp_path).append_all(make_study())
    return tmp_path


def call(*words: object):
    result = CliRunner().invoke(app, ["report", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_home_becomes_a_page_with_tables_and_figures(home):
    told = json.loads(call("--home", home, "--formats", "md,tex,csv", "--figures", "svg", "--json"))
    assert told["page"] == str(home / "report.html")
    assert "is best: MAP@R" in (home / "report.html").read_text()
    assert "| method | n | MAP@R" in (home / "report.md").read_text()
    assert r"\toprule" in (home / "report.tex").read_text()
    assert (home / "report.csv").read_text().startswith("method,runs done")
    assert {path.rsplit("/", 1)[1] for path in told["figures"]} >= {"scores.svg", "learning_curves.svg", "cost.svg"}
    assert len(told["runs"]) == 12


def test_runs_and_methods_are_named_and_ranked_by_another_metric(home):
    study = make_study()
    out = home / "sub" / "page.html"
    told = call("--home", home, "--out", out, "--metric", "recall@1", study[0].name[:8], study[3].method)
    assert str(out) in told
    text = out.read_text()
    assert "Which of these 2 methods" in text
    assert "Recall@1" in text.partition("has the highest score")[2][:60]


def test_refusals_say_what_there_is(home, tmp_path):
    with pytest.raises(InputError, match="no study or run 'nothing' in"):
        call("--home", home, "nothing")
    with pytest.raises(InputError, match="formats takes md, tex, csv; got 'docx'"):
        call("--home", home, "--formats", "md,docx")
    with pytest.raises(InputError, match="figures takes pdf, svg, png; got 'jpg'"):
        call("--home", home, "--figures", "jpg")
    with pytest.raises(InputError, match=r"no test score 'map@x' in these runs. Did you mean 'map@r'\?"):
        call("--home", home, "--metric", "map@x")
    with pytest.raises(InputError, match=r"there is no run to report in .*; `fairground demo` makes some"):
        call("--home", tmp_path / "empty")
