"""What the ending should take: sums by hand, at the machine's pace, and fewer rows where the time is short."""

from types import SimpleNamespace

import pytest

from fairground.recommendation.candidates import Candidate
from fairground.recommendation.ending_forecast import (
    DECIDING,
    FOLDER,
    LEAST_RANKING,
    LEAVING,
    MOST_SLACK,
    MOST_TEST,
    PER_METHOD,
    PER_PACE,
    SHARED,
    SLACK,
    THRESHOLDS,
    EndingForecast,
)
from fairground.recommendation.measurements import Measurement, Measurements

FROZEN = Candidate(name="frozen network", words=("head=identity",))
HEAD = Candidate(name="a", words=("loss=triplet",), steps=30)
STAGES = Candidate(name="a", words=("loss=triplet",), steps=30, depth=2, depth_steps=50, depth_lr=1e-4)


def forecast(*, pace=1.0, speed=0.0, limit=1000.0, finalists=(FROZEN, HEAD)):
    known = Measurements(None, scope="s")
    for candidate, work in ((FROZEN, 4.0), (HEAD, 8.0), (STAGES, 40.0)):
        known.add(Measurement(scope="s", method=candidate.key, repeat=0, scores={}, blocks={}, seconds=9.0, work=work))
    session = SimpleNamespace(
        known=known,
        folds=SimpleNamespace(n_folds=4),
        rows=range(400),
        bench=SimpleNamespace(n_test=800, trunk=None),
        race=SimpleNamespace(finalists=list(finalists)),
        pace=SimpleNamespace(value=pace, seconds=lambda work: pace * work),
        clock=SimpleNamespace(limit=limit),
        speed=speed,
        prepared=None,
    )
    found = EndingForecast(session)
    found.page = 0.5
    found.hear_frozen(ranking=0.4, embedding=1.0)
    return found


def test_ranking_grows_with_the_square_and_embedding_with_the_rows():
    # twice the seen rows in one piece: 4 folds of 100 took 0.4, one of 800 takes 4 * 2 * 2 * 0.4; embedding 2 * 1.0
    assert forecast().scoring(800) == pytest.approx(LEAST_RANKING + 6.4 + 2.0)


def test_before_anything_is_measured_only_the_least_is_known():
    found = forecast()
    assert EndingForecast(found.session).scoring(800) == LEAST_RANKING
    assert found.fit(Candidate(name="b", words=())) == 0.0


def test_the_sum_is_what_the_ending_does_one_after_another():
    fit = 8.0 / 4
    fold = LEAST_RANKING + 4 / 16 * 0.4 + 1.0 / 4
    writing = 1.2 * 0.5 + FOLDER + LEAVING
    deciding = DECIDING + 3 * PER_METHOD
    work = deciding + fit + (fit + THRESHOLDS * fold) + writing + 2 * (LEAST_RANKING + 8.4) / SHARED
    assert forecast().seconds() == pytest.approx(SLACK * work)


def test_a_machine_that_is_three_times_as_slow_keeps_three_times_as_much_and_a_little_more():
    kept = 3 * forecast().seconds() * (SLACK + 2 * PER_PACE) / SLACK
    assert forecast(pace=3.0).seconds() == pytest.approx(kept)
    assert forecast(pace=100.0).slack == MOST_SLACK


def test_test_images_are_embedded_at_the_speed_measured_and_read_again_for_trained_stages():
    assert forecast(speed=10.0).embedding() == pytest.approx(80.0)
    assert forecast(speed=10.0, finalists=(FROZEN, STAGES)).embedding() == pytest.approx(160.0)
    assert forecast(speed=1.0).embedding() == pytest.approx(MOST_TEST * 1000.0)


@pytest.mark.parametrize("seconds", [0.5, 3.0, 20.0])
def test_as_many_rows_are_scored_as_fit_and_no_more(seconds):
    found = forecast(pace=2.0)
    n = found.rows_in(seconds, most=800)
    each = (SLACK + PER_PACE) * 2 * 2.0 / SHARED
    assert each * found.scoring(n) <= seconds
    assert n == 800 or each * found.scoring(n + 1) > seconds


def test_thresholds_are_found_on_fewer_rows_where_the_time_is_short():
    found = forecast()
    assert found.rows_for_thresholds(HEAD, 2.0) == 0
    assert 0 < found.rows_for_thresholds(HEAD, 10.0) < found.rows_for_thresholds(HEAD, 40.0)


def test_what_is_prepared_is_not_kept_for_again():
    found = forecast(finalists=(HEAD,))
    before = found.seconds()
    found.session.prepared = SimpleNamespace(key=HEAD.key)
    fold = LEAST_RANKING + 4 / 16 * 0.4 + 1.0 / 4
    assert before - found.seconds() == pytest.approx(SLACK * (2 * 8.0 / 4 + THRESHOLDS * fold))


def test_thresholds_found_faster_than_forecast_lower_what_is_kept_for_scoring():
    found = forecast()
    n, work = 100, found.thresholds(HEAD, 100)
    found.hear_thresholds(HEAD, n, work)
    assert found.scoring(800) == forecast().scoring(800)
    found.hear_thresholds(HEAD, n, work / 2)
    assert found.scoring(800) == pytest.approx(LEAST_RANKING + 8.4 / 2)
