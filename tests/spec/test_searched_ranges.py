"""What a search covers: in the unit of the setting, and wide enough to hold what the papers found."""

import pytest

from fairground.errors import InputError
from fairground.papers.published import PublishedRow, published_rows
from fairground.spec import catalogue
from fairground.spec.declarations import settings_of, tunable_of
from fairground.spec.jobs import StudyJob, jobs_of
from fairground.spec.space import Choice, Integer, LogReal, Real, range_for, range_from_plain, range_to_plain
from fairground.spec.study_load import load_study, read_range

OPTIMA = published_rows("mlrc2020/hyperparameters")


def searching_job(row: PublishedRow) -> StudyJob:
    """The job of an MLRC study that searches what the row prints the optimum of."""
    tables = {"cub200": "table4", "cars196": "table5", "sop": "table6"}
    is_large = row.setting == "training.batch_size=256"
    study = load_study("mlrc2020/batch256" if is_large else f"mlrc2020/{tables[row.dataset]}")
    [job] = [
        job
        for job in jobs_of(study)
        if f"loss={row.method}" in [word.replace("{data}", job.data.label) for word in job.method.words]
    ]
    return job


@pytest.mark.parametrize("method", sorted({(row.method, row.setting) for row in OPTIMA}))
def test_every_published_optimum_lies_inside_the_range_its_study_searches(method: tuple[str, str]) -> None:
    rows = [row for row in OPTIMA if (row.method, row.setting) == method]
    ranges = searching_job(rows[0]).ranges()
    for row in rows:
        span = ranges[row.metric]
        assert not isinstance(span, Choice)
        assert span.low <= row.value <= span.high, (row.method, row.metric, span)
    assert set(ranges) == {row.metric for row in rows}


def test_arc_face_is_searched_over_a_right_angle_in_the_unit_of_its_preset() -> None:
    for name in ("table4", "table5", "table6", "batch256", "all"):
        jobs = [job for job in jobs_of(load_study(f"mlrc2020/{name}")) if job.method.label == "ArcFace"]
        assert jobs
        assert {job.ranges()["loss.margin"] for job in jobs} == {Real(low=0, high=90, unit="degrees")}


@pytest.mark.parametrize("name", catalogue.list_names("losses"))
def test_a_setting_with_a_unit_declares_its_range_with_one(name: str) -> None:
    settings = settings_of("losses", name)
    for key, span in tunable_of("losses", name).items():
        has_unit = isinstance(span, Real) and span.unit is not None
        assert has_unit == (f"{key}_unit" in settings), key


def test_a_range_is_converted_and_never_mistaken() -> None:
    right_angle = Real(low=0.0, high=90.0, unit="degrees")
    assert range_for("loss.margin", right_angle, "degrees") == right_angle
    radians = range_for("loss.margin", right_angle, "radians")
    assert isinstance(radians, Real)
    assert (radians.low, radians.unit) == (0.0, "radians")
    assert radians.high == pytest.approx(1.570796326795)
    assert range_for("loss.margin", radians, "degrees") == right_angle
    for span in (Real(low=0, high=90), LogReal(low=1, high=90), Integer(low=0, high=90)):
        with pytest.raises(InputError, match=r"the range of loss\.margin needs a unit"):
            range_for("loss.margin", span, "degrees")
        assert range_for("loss.scale", span, None) == span
    with pytest.raises(InputError, match=r"is in degrees, and loss\.scale has no unit"):
        range_for("loss.scale", right_angle, None)


def test_a_unit_is_read_stored_and_left_out_where_there_is_none() -> None:
    span = read_range("here", {"low": 0, "high": 45, "unit": "degrees"})
    assert span == Real(low=0, high=45, unit="degrees")
    assert range_from_plain(range_to_plain(span)) == span
    assert range_to_plain(Real(low=0, high=1)) == {"kind": "Real", "low": 0, "high": 1}
    with pytest.raises(InputError, match="has a unit, so it is neither whole nor on a log scale"):
        read_range("here", {"low": 1, "high": 45, "unit": "degrees", "scale": "log"})
    with pytest.raises(InputError, match="unit"):
        read_range("here", {"low": 1, "high": 45, "unit": "turns"})


def test_a_range_of_an_angle_without_a_unit_is_refused_before_anything_runs(tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "[data]\nicons = []\n[methods]\narc = ['loss=arc_face']\n"
        "[search]\ntrials = 2\n[search.ranges]\n'loss.margin' = { low = 0, high = 1 }\n"
    )
    with pytest.raises(InputError, match=r"the range of loss\.margin needs a unit"):
        jobs_of(load_study(str(path)))[0].ranges()
