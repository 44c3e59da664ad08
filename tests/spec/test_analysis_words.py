"""Options of analyses in specs: read, checked, and carried to the analysis."""

import numpy as np
import pytest

from fairground.errors import InputError
from fairground.evaluation import analyse
from fairground.spec.analysis_words import AnalysisWord, read_analysis
from fairground.spec.load import load_run


def test_a_word_may_carry_options():
    assert read_analysis("rho") == AnalysisWord(name="rho")
    assert read_analysis("rho(drop_last=1, direction=to_uniform)") == AnalysisWord(
        name="rho", options={"drop_last": 1, "direction": "to_uniform"}
    )
    assert read_analysis(" pi ( distance = euclidean ) ").options == {"distance": "euclidean"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("['roh']", "no analysis 'roh'. Did you mean 'rho'?"),
        ("['rho(drop_lost=1)']", "no option 'drop_lost' of rho. Did you mean 'drop_last'?"),
        ("['rho(drop_last=much)']", "evaluation.analyses: rho.drop_last must be a whole number; got 'much'"),
        ("['rho(1)']", "'1' of rho must be option=value"),
        ("['rho', 'rho(drop_last=1)']", "evaluation.analyses names rho twice"),
        ("['rho(']", "'rho(' is no analysis"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_starts(words, why):
    with pytest.raises(InputError) as refused:
        load_run(overrides=[f"evaluation.analyses={words}"])
    assert why in str(refused.value)


def test_the_option_reaches_the_analysis_and_the_name_stays_plain():
    random = np.random.default_rng(0)
    embeddings, labels = random.normal(size=(60, 8)), np.repeat(np.arange(6), 10)
    plain = analyse(embeddings, labels, ["rho"])["rho"]
    found = analyse(embeddings, labels, ["rho(drop_last=1)"])["rho"]
    assert len(plain.curves["kept_singular_values"]) == 7
    assert len(found.curves["kept_singular_values"]) == 6
    assert found.values["rho"] < plain.values["rho"]
