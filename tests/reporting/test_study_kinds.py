"""Each kind of study has a page that answers its question: numbers by hand, no verdicts where none were asked for."""

from dataclasses import replace

import numpy as np
import pytest

from fairground.comparison.comparison_result import correlation_interval
from fairground.reporting import FigureInputs, RunSet, figures_of, inputs_of, page_text
from fairground.reporting.figures import (
    effects_of_settings,
    embedding_structure,
    regularisation,
    search_course_and_sensitivity,
)
from fairground.spec import load_study
from fairground.studies.trials import Trial
from tests.records.factory import changed
from tests.reporting.figure_runs import inputs, run, toys


def of_kind(kind: str, records, *, methods=("loss=a",), names=None, folders=None) -> RunSet:
    """The runs as those of a study of this kind whose methods have these overrides."""
    study = replace(load_study("tiny"), kind=kind)
    study = replace(study, methods=tuple(replace(study.methods[0], label=w, words=(w,)) for w in methods))
    return RunSet(records=tuple(records), study=study, title="What?", names=names or {}, folders=folders or {})


def section(runs: RunSet) -> FigureInputs:
    (found,) = inputs_of(runs).values()
    return found


def told(runs: RunSet) -> list[str]:
    return [figure.answer for figure in figures_of(section(runs)) if figure.is_answer and figure.answer]


def two_batch_sizes():
    """Two losses with batches of 128 and 56: the second has 2 and 4 points less, on both seeds."""
    for loss, high, low in (("a", 0.50, 0.48), ("b", 0.40, 0.36)):
        for seed in (0, 1):
            yield run(loss, high + seed / 100, seed=seed)
            yield changed(run(loss, low + seed / 100, seed=seed), training__batch_size=56)


def test_a_factor_is_judged_by_its_effect_on_each_loss_and_over_losses():
    runs = of_kind("factor", two_batch_sizes(), methods=["training.batch_size=56"])
    figure = effects_of_settings.effects(section(runs))
    values = [(loss, change.partition(" ")[0]) for _, _, loss, change, _ in figure.numbers]
    assert values == [("a", "+2.00"), ("b", "+4.00"), ("mean of 2 losses", "+3.00")]
    # Of 2 and 4 points, t(0.975, 1) = 12.71 times their error of 1.
    assert figure.numbers[-1][1:] == ("128 instead of 56", "mean of 2 losses", "+3.00 [-9.71, +15.71]", "not settled")
    assert "(8 runs)" in figure.sentence
    assert told(runs) == [figure.answer]
    assert figure.answer.startswith("On average over 2 losses, no change of Recall@1 % is settled: batch size 128")
    assert effects_of_settings.effects(section(replace(runs, study=None))) is None


def test_what_a_study_varies_does_not_make_its_page_unfair():
    runs = of_kind("factor", two_batch_sizes(), methods=["training.batch_size=56"])
    page = page_text(runs)
    assert "[unfair]" not in page
    assert "How sure is that?" not in page
    assert "and in what the study varies: training.batch_size." in page
    # The same runs in a ranking are unfair, and so is anything that the study does not vary.
    for other in (of_kind("ranking", runs.records), of_kind("factor", runs.records, methods=["optimiser.lr=1"])):
        assert "[unfair]" in page_text(other)
    assert not section(runs).table.has_marks


def test_the_distributions_count_runs_not_runs_by_metrics():
    made = section(of_kind("factor", two_batch_sizes()))
    figure = effects_of_settings.distributions(made)
    assert "(8 runs)" in figure.sentence
    assert [row[-1] for row in figure.numbers] == ["4", "4"]


def switched(loss: str, gain: float, *, seed: int, **settings):
    return changed(run(loss, 0.5 + gain, miner="rho_distance", p=0.3, seed=seed, train_rho=0.4), **settings)


def test_regularisation_is_judged_by_its_gain():
    records = [run(loss, 0.5 + seed / 100, seed=seed, train_rho=0.5) for loss in ("a", "b") for seed in (0, 1)]
    records += [switched("a", 0.02 + seed / 100, seed=seed) for seed in (0, 1)]
    records += [switched("b", 0.04 + seed / 100, seed=seed, loss__zero_mean_weight=0.005) for seed in (0, 1)]
    made = section(of_kind("regularisation", records))
    figure = regularisation.regularised(made)
    changes = "Recall@1 by +3.00 [-9.71, +15.71] points and \u03c1 by -0.10 [-0.10, -0.10] on average over 2 methods."
    assert figure.answer.startswith(f"Switching tuples changes {changes} Method by method, Recall@1 with it is ")
    assert "differs in loss.zero_mean_weight too: none without, 0.005 with; erratum E25." in figure.sentence
    # Of several strengths the best would flatter: the sweep itself answers.
    sweep = [*records, *(changed(record, miner__p_switch=0.1) for record in records[4:])]
    first, *_ = told(of_kind("regularisation", sweep))
    assert first.startswith("Of 2 strengths, p_switch ")
    assert "; against no switching that is " in first


def test_a_correlation_has_an_interval_over_methods():
    places = np.random.default_rng(0).normal(size=(12, 2)).tolist()
    points = [(f"m{i}", x, y, seed) for i, (x, y) in enumerate(places) for seed in (0, 1)]
    records = [run(m, 0.5 + x / 100, seed=s, train_rho=1 - x + y / 4, train_pi_intra=y) for m, x, y, s in points]
    figure = embedding_structure.structure(section(of_kind("correlation", records)))
    assert "of the training embeddings goes with Recall@1, by the correlations \u03c1 -0.9" in figure.answer
    assert [(title, n) for title, *_, n in figure.numbers] == [("π intra", "24"), ("\u03c1", "24")]
    # artanh(0.5) = 0.5493, 1.96 / sqrt(9).
    found = correlation_interval(0.5, 12)
    assert (found.low, found.high) == pytest.approx((np.tanh(0.5493 - 0.6533), np.tanh(0.5493 + 0.6533)), abs=1e-3)
    assert correlation_interval(0.5, 3).low is None


def toy(tmp_path, kind: str) -> RunSet:
    records, folders = toys(tmp_path)
    names = {record.method: record.spec["data"]["space"] for record in records}
    return of_kind(kind, records, methods=["data.space=bands"], names=names, folders=folders)


def test_a_toy_has_no_verdicts_and_says_what_the_metrics_say(tmp_path):
    page = page_text(toy(tmp_path, "toy"))
    assert "Recall@1 is the same in all 2 spaces to within 1 point; these differ: MAP@R 30.0 (stripes), 70.0 (b" in page
    for absent in ("[unfair]", "May they be compared", "How sure is that", "Which of these", "One run cannot tell"):
        assert absent not in page
    assert "[unfair]" in page_text(toy(tmp_path, "ranking"))


def test_the_answer_to_progress_is_a_slope_and_a_gain_over_the_classics():
    losses = {"contrastive": 0.5, "triplet": 0.51, "nt_xent": 0.52, "margin": 0.53, "arc_face": 0.54}
    one, other = told(of_kind("progress", [run(loss, value) for loss, value in losses.items()]))
    assert one.startswith("Over 2006 to 2019, scores of 5 methods move per year of the loss: Recall@1 by +0.2")
    assert other.startswith("Over the contrastive loss the other losses gain on average +6.00 [")


def trials(n: int = 9) -> list[Trial]:
    """Scores that fall off from (0.5, 1e-2), a linear and a logarithmic setting."""
    places = [(x / 10, 10.0 ** (i % 5 - 4)) for i, x in enumerate(range(1, n + 1))]
    settings = [{"loss.margin": x, "optimiser.loss_lr": y, "loss.form": "x"} for x, y in places]
    folds = [{0: 0.5 - (x - 0.5) ** 2 - 0.05 * (np.log10(y) + 2) ** 2} for x, y in places]
    return [Trial(number=i, settings=settings[i], state="done", folds=folds[i]) for i in range(n)]


def test_a_model_of_a_search_goes_through_its_trials():
    same = [replace(trial, settings={"loss.form": "x"}) for trial in trials()]
    made = inputs([run("a", 0.5)], trials={"a": trials(), "few": trials(4), "same": same})
    (surface,) = search_course_and_sensitivity.surfaces_of(made).values()
    assert surface.keys == ["loss.margin", "optimiser.loss_lr"]
    assert surface.is_log.tolist() == [False, True]
    mean, spread = surface.at(surface.points)
    assert mean == pytest.approx(surface.scores, abs=3)
    far, wide = surface.at(surface.points + 5)
    assert (far.tolist(), (wide > spread.max()).all()) == ([pytest.approx(surface.scores.mean(), abs=3)] * 9, True)
    assert surface.given(1, np.array([0, 0.5, 1])) == pytest.approx([1e-4, 1e-2, 1])


def test_searches_over_two_settings_have_slices_and_contours():
    made = inputs([run("a", 0.5)], trials={"a": trials(), "b": trials(4)})
    figure = search_course_and_sensitivity.contours(made)
    assert "of 9 trials of 1 method" in figure.sentence
    assert figure.svg("here").count("<svg") == 1
    assert "Lines are slices of a model" in search_course_and_sensitivity.sensitivity(made).sentence
    few = inputs([run("a", 0.5)], trials={"a": trials(4)})
    assert search_course_and_sensitivity.contours(few) is None
    assert "slices" not in search_course_and_sensitivity.sensitivity(few).sentence
