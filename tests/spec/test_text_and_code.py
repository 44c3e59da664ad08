"""The differences between text and released code as data: presets, studies and errata agree with the table."""

from pathlib import Path

import pytest

from fairground.errors import InputError
from fairground.spec import UNSAID, Difference, StudyJob, differences, jobs_of, load_run, presets, settings_as
from fairground.spec.load_study_spec import load_study, study_names
from fairground.spec.text_and_code import _differences

ERRATA = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")


def spec_of(job: StudyJob):
    return job.spec(seed=1, fold=0, test=True, unsaid=UNSAID)


@pytest.mark.parametrize("row", _differences(), ids=lambda row: "-".join((row.name, row.setting or row.erratum)))
def test_a_difference_is_one_and_a_run_can_be_either(row: Difference) -> None:
    assert row.text != row.code
    assert f"| {row.erratum} |" in ERRATA
    when = dict([row.when.split("=")] if row.when else [])
    parts = {"optimiser.name" if row.part == "optimiser" else row.part: row.name, **when}
    protocol = f"{row.paper}-{parts.pop('data', 'cub200')}"
    # Every miner makes tuples that the triplet loss takes.
    base = load_run(protocol=protocol, overrides={"loss": "triplet", **parts}, unsaid=UNSAID)
    assert row in differences(base)
    for reading in ("text", "code"):
        words = {"loss": "triplet", **parts, **settings_as(reading, base)}
        read = load_run(protocol=protocol, overrides=words, unsaid=UNSAID)
        assert not row.setting or not getattr(row, reading) or read.value_of(row.setting) == row.value(reading)


@pytest.mark.parametrize(
    ("loss", "preset", "expected"),
    [
        ("quadruplet", "roth-text", {"loss.margin": 1.0, "loss.second_margin": 0.5, "miner.hi": 1.4}),
        ("triplet", "roth-semihard-text", {"loss.power": 1, "miner": "semihard", "miner.margin": 2.0}),
        ("snr", "roth-rho-sop-text", {"loss.zero_mean_weight": 0.005, "miner.hi": 1.4, "miner.p_switch": 0.15}),
        ("normalised_softmax", "roth-sop-text", {"optimiser.loss_lr": 1e-5, "loss.temperature": 0.05}),
        ("n_pair", "roth-text", {"loss.positives": "all", "evaluation.normalise": True}),
        ("nt_xent", "mlrc-sop-text", {"loss.log_floor": None, "loss.temperature": 0.0002}),
    ],
)
def test_every_preset_can_be_had_as_the_text_has_it(loss: str, preset: str, expected: dict[str, object]) -> None:
    settings = presets(loss)[preset]
    assert {key: settings[key] for key in expected} == expected


def test_a_preset_with_the_mistakes_of_the_code_has_no_text() -> None:
    with pytest.raises(InputError, match="no preset 'roth-as-run-text'"):
        load_run(overrides={"loss": "arc_face@roth-as-run-text"})


@pytest.mark.parametrize("name", [name for name in study_names() if name.startswith("roth2020/")])
def test_a_study_of_text_or_code_follows_it_in_every_setting(name: str) -> None:
    kind = name.rpartition("-")[2]
    reading = {"text": "text", "run": "code"}.get(kind)
    jobs = jobs_of(load_study(name))
    for job in jobs if reading else ():
        spec = spec_of(job)
        wanted = settings_as(reading, spec)
        assert wanted == {key: spec.value_of(key) for key in wanted}, job.label
    is_of_the_paper = spec_of(jobs[0]).protocol.startswith("roth2020-")
    if is_of_the_paper and not name.endswith(("-as-run", "-text", "grid-search")):
        assert f"{name}-text" in study_names()


def test_own_words_and_searched_settings_outlast_the_reading() -> None:
    changed = load_study("roth2020/table2", changes={"settings": "text", "miner.hi": 1.2})
    assert (changed.follows, changed.differs) == ("", "changed from roth2020/table2: miner.hi 1.2 (there 1.4)")
    job = next(job for job in jobs_of(changed) if job.label == "cub200/Triplet (D)")
    assert (spec_of(job).value_of("miner.hi"), spec_of(job).value_of("loss.power")) == (1.2, 1)
    searched = job.spec(seed=1, settings={"loss.power": 2}, test=True, unsaid=UNSAID)
    assert searched.value_of("loss.power") == 2
    plain = next(job for job in jobs_of(load_study("roth2020/table2-text")) if job.label == "cub200/Triplet (D)")
    assert spec_of(plain).value_of("miner.hi") == 1.4


def test_text_and_code_are_readings_of_a_paper() -> None:
    with pytest.raises(InputError, match="settings = 'text' is for the protocols of a paper"):
        spec_of(jobs_of(load_study("laptop/roth-table2", changes={"settings": "text"}))[0])
    with pytest.raises(InputError, match="settings must be"):
        load_study("roth2020/table2", changes={"settings": "cod"})


def test_an_untrained_network_keeps_its_name_unless_it_sees_other_pixels() -> None:
    names = ("roth2020/table1", "roth2020/table1-text")
    ours, text = ({job.label: spec_of(job) for job in jobs_of(load_study(name))} for name in names)
    assert ours["cub200/R50"] == text["cub200/R50"]
    assert (ours["cub200/GN"].value_of("transform.side"), text["cub200/GN"].value_of("transform.side")) == (227, 0)


def test_the_grid_is_small_and_judged_on_training_classes() -> None:
    for job in jobs_of(load_study("roth2020/grid-search")):
        spec = spec_of(job)
        judged = (spec.split.name, spec.evaluation.select_on, spec.evaluation.report)
        assert judged == ("class_folds", "validation", "selected")
        assert 2 <= job.n_trials() <= 9
        # The table's own setting is a point of the grid.
        assert set(job.defaults()) == set(job.ranges()), job.label
