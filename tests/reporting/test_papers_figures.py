"""The papers' figures: their numbers by hand, and that each is left out when the runs lack what it needs."""

from dataclasses import replace

import numpy as np
import pytest

from fairground.records import RunFolder, write_arrays
from fairground.reporting import FigureInputs, embedding_map, figures_of, inputs_of, write_figures
from fairground.reporting.figures import (
    effects_of_settings,
    embedding_structure,
    regularisation,
    search_course_and_sensitivity,
)
from fairground.studies.trials import Trial
from tests.records.factory import changed, make_record
from tests.reporting.figure_runs import KEY, inputs, run
from tests.reporting.fixtures import make_rich_study, write_files


@pytest.fixture(scope="module")
def rich(tmp_path_factory) -> FigureInputs:
    return inputs_of(make_rich_study(tmp_path_factory.mktemp("home")))[KEY]


def test_a_rich_study_has_every_figure_and_each_says_from_how_many_runs(rich, tmp_path):
    figures = figures_of(rich)
    expected = """
        scores learning_curves regularised distributions correlations structure p_switch spectra
        densities autocorrelation over_time average_improvement traces sensitivity cost
    """
    assert [figure.name for figure in figures] == expected.split()
    for figure in figures:
        assert any(word in figure.sentence for word in ("run", "seed", "trial", "method")), figure.name
        assert figure.sentence[0].isupper() or figure.sentence[0] == "π"
        assert figure.sentence.endswith(".")
        assert all(len(row) == len(figure.columns) for row in figure.numbers)
    written = write_figures(rich, tmp_path, "pdf")
    assert len(written) == len(figures)
    assert all(path.read_bytes().startswith(b"%PDF") for path in written)


def test_one_poor_run_has_no_figure_but_its_curve():
    for records in ([run("triplet", 0.5)], [make_record(state="failed")]):
        assert {figure.name for figure in figures_of(inputs(records)) if figure.is_for_page} <= {"learning_curves"}


def test_levels_are_called_as_the_study_calls_them():
    """ "Margin, SPC-2" and "Triplet, SPC-2": the end of the name is the level, unless a level has several."""
    records = [
        changed(run(loss, 0.5), sampler={"name": "per_class", "per_class": n}) for loss in ("a", "b") for n in (2, 4)
    ]
    records += [changed(run(loss, 0.5), sampler={"name": "frechet", "per_class": 2}) for loss in ("a", "b")]
    made = inputs(records)
    ends = ["SPC-2", "SPC-4", "SPC-2", "SPC-4", "FRD", "FRD"]
    starts = ["A", "A", "B", "B", "A", "B"]
    names = {r.method: f"{start}, {end}" for r, start, end in zip(records, starts, ends, strict=True)}
    named = replace(made, runs=replace(made.runs, names=names))
    assert set(effects_of_settings.distributions_of(named)["sampler"]) == {"SPC-2", "SPC-4", "FRD"}
    ours = {"per_class, per class 2", "per_class, per class 4", "frechet"}
    assert set(effects_of_settings.distributions_of(made)["sampler"]) == ours
    other = replace(made, runs=replace(made.runs, names=names | {records[0].method: "A, as the protocol"}))
    assert set(effects_of_settings.distributions_of(other)["sampler"]) == ours


def test_relative_performance_by_hand():
    found = effects_of_settings.distributions_of(
        inputs([run("a", 0.5), run("a", 0.4, miner="semihard"), run("b", 0.2), run("b", 0.2, miner="semihard")])
    )
    assert set(found) == {"miner"}
    assert {level: values.tolist() for level, values in found["miner"].items()} == {
        "distance_weighted": [100.0, 100.0],
        "semihard": [80.0, 100.0],
    }
    assert effects_of_settings.distributions(inputs([run("a", 0.5), run("b", 0.4)])) is None
    spaces = [changed(run("a", 0.5), data={"name": "toy_spaces", "space": space}) for space in ("bands", "blocks")]
    assert effects_of_settings.distributions(inputs(spaces)) is None
    # A strength that comes and goes with its miner says nothing that the miner does not; two strengths are two levels.
    plain, *switched = run("a", 0.5), *(run("a", 0.4, miner="rho_distance", p=p) for p in (0.1, 0.2))
    assert set(effects_of_settings.distributions_of(inputs([plain, switched[0]]))) == {"miner"}
    levels = effects_of_settings.distributions_of(inputs([plain, *switched]))["miner"]
    assert set(levels) == {"distance_weighted", "rho_distance, p switch 0.1", "rho_distance, p switch 0.2"}


def test_traces_and_sensitivity_come_from_the_trials():
    trials = [
        Trial(number=0, settings={"loss.margin": 0.1}, state="done", folds={0: 0.3}),
        Trial(number=1, settings={"loss.margin": 0.2}, state="diverged", failure="nan"),
        Trial(number=2, settings={"loss.margin": 0.4}, state="done", folds={0: 0.5}),
    ]
    made = inputs([run("a", 0.5)], trials={"a": trials, "b": [trials[1]]})
    assert search_course_and_sensitivity.traces(made).numbers == (("a", "3", "2", "50.00"),)
    (one,), is_search = search_course_and_sensitivity.sensitivities_of(made)
    assert is_search
    assert one.points == [(0.1, 30.0), (0.4, 50.0)]
    assert one.reach == pytest.approx(20)


def test_sensitivity_without_a_search_compares_methods_of_one_loss():
    levels = [(0.1, 0.3, 0), (0.1, 0.3, 1), (0.2, 0.4, 0), (0.2, 0.4, 1)]
    study = [make_record(settings={"margin": x}, level=level, seed=seed) for x, level, seed in levels]
    along = [changed(record, miner={"name": "semihard"}) for record in study[:2]]
    assert "Other settings vary too" in search_course_and_sensitivity.sensitivity(inputs([*study, *along])).sentence
    (one,), is_search = search_course_and_sensitivity.sensitivities_of(inputs(study))
    assert not is_search
    assert "Other settings" not in search_course_and_sensitivity.sensitivity(inputs(study)).sentence
    assert search_course_and_sensitivity.sensitivity(inputs(study)).sentence.endswith(
        "(2 methods). Diamonds are the best."
    )
    assert (one.owner, one.setting, [value for value, _ in one.points]) == ("triplet", "loss.margin", [0.1, 0.2])


def test_a_map_of_many_images_is_bounded_and_flat_data_keeps_its_shape(tmp_path):
    record = run("a", 0.5)
    folder = RunFolder(tmp_path, record.name).make()
    # A line twice as long as it is wide, in two of five dimensions, far from the origin so that lengths agree.
    flat = np.zeros((5000, 5))
    flat[:, 0], flat[:, 1], flat[:, 4] = np.tile([0, 2.0], 2500), np.repeat([0, 1.0], 2500), 1000
    write_arrays(folder.embeddings, {"embeddings": flat, "labels": np.zeros(5000, int), "rows": np.arange(5000)})
    (one,) = embedding_map.maps_of(inputs([record], folders={record.name: folder}))
    assert len(one.points) == embedding_map.MOST_POINTS
    assert one.share == pytest.approx(1, abs=1e-6)
    spans = sorted(np.ptp([[point.x, point.y] for point in one.points], axis=0).tolist())
    assert spans == pytest.approx([0.5, 1.0], abs=1e-3)


def test_each_switched_method_is_set_beside_the_method_most_like_it():
    plain = [run("triplet", 0.50), run("triplet", 0.45, miner="semihard"), run("margin", 0.60)]
    switched = [run("triplet", value, miner="rho_distance", p=p) for p, value in ((0.2, 0.55), (0.4, 0.53))]
    # Of two strengths the better one; of two plain methods the one that mines by distance, too.
    figure = regularisation.regularised(inputs([*plain, *switched]))
    assert "of several strengths the best (2 runs). Switching tuples changes Recall@1 by +5.00" in figure.sentence
    assert figure.numbers == (("triplet + distance_weighted", "50.00", "55.00"),)
    assert "strengths" not in regularisation.regularised(inputs([*plain, switched[0]])).sentence
    # The standard deviation reaches beyond both runs, and the axis beyond that.
    assert regularisation.cut_axis([[40.0, 70.0]]) == pytest.approx((55 - 1.7 * 450**0.5, 55 + 1.2 * 450**0.5))


def test_structure_is_read_from_the_training_split():
    records = [run("a", 0.5 + 0.1 * x, seed=x, train_rho=2.0 - x, train_pi_inter=0.3) for x in range(4)]
    assert embedding_structure.structure(inputs(records)).numbers == (
        ("π inter", "none", "none", "4"),
        ("\u03c1", "-1.00", "none", "4"),
    )
    assert embedding_structure.structure(inputs([run("a", 0.5, seed=x) for x in range(4)])) is None


def test_p_switch_curves_are_called_as_the_method_without_and_compared_with_it_alone():
    plain, other = run("triplet", 0.6), run("triplet", 0.2, miner="semihard")
    switched = [run("triplet", 0.6 + p, miner="rho_distance", p=p, seed=s) for p in (0.1, 0.3) for s in (0, 1)]
    made = inputs([plain, other, *switched])
    figure = regularisation.p_switch(made)
    assert figure.numbers == tuple(
        ("triplet + distance_weighted", *rest) for rest in (("0.1", "70.00", "2"), ("0.3", "90.00", "2"))
    )
    assert "(5 runs); dashed lines are without" in figure.sentence


def test_p_switch_curves_of_two_betas_stay_apart():
    def at(beta: float, value: float, **where):
        return changed(run("margin", value, **where), loss={"name": "margin", "beta": beta})

    records = [at(beta, beta / 2) for beta in (0.6, 1.2)]
    records += [at(beta, beta / 2 + p / 10, miner="rho_distance", p=p) for beta in (0.6, 1.2) for p in (0.1, 0.3)]
    found = [row[:3] for row in regularisation.p_switch(inputs(records)).numbers]
    places, name = [(beta, p) for beta in (0.6, 1.2) for p in (0.1, 0.3)], "margin + distance_weighted, loss.beta="
    assert set(found) == {(f"{name}{beta}", str(p), f"{50 * beta + 10 * p:.2f}") for beta, p in places}


SPECTRUM = "spectrum/spectrum"


def with_analyses(records, home, *shares, array: str = SPECTRUM) -> FigureInputs:
    """The runs with these shares each in the file of their analyses; the last shares for all further runs."""
    folders = {}
    for i, record in enumerate(records):
        folders[record.name] = RunFolder(home, record.name).make()
        write_arrays(folders[record.name].analyses, {array: np.array(shares[min(i, len(shares) - 1)])})
    return inputs(records, folders=folders)


def mixed(record):
    return changed(record, regulariser={"name": "manifold_mixup", "alpha": 2.0})


def test_spectra_of_all_pairs_are_drawn_each_in_a_panel(tmp_path):
    losses = ["contrastive", "margin", "snr", "triplet"]
    records = [run(loss, 0.5) for loss in losses] + [run(loss, 0.6, miner="rho_distance", p=0.3) for loss in losses]
    made = with_analyses([*records, run("soft_triple", 0.4)], tmp_path, (0.7, 0.3))
    found, n_runs = embedding_structure.spectra_of(made, SPECTRUM)
    pairs = embedding_structure.pairs_of_spectra(made, found)
    assert (len(pairs), n_runs) == (4, 9)
    assert all(label.split()[0] == switched.label.split()[0] for label, (_, switched) in pairs.items())
    figure = embedding_structure.spectra(made)
    drawn = "4 methods without (blue) and with (red) switched tuples; 1 method without a pair is in the"
    assert drawn in figure.sentence
    assert len(figure.numbers) == 9
    assert all(f">{loss} + distance" in figure.svg("here") for loss in losses)
    assert "soft_triple" not in figure.svg("here")
    again = with_analyses([run("margin", 0.6), mixed(run("margin", 0.5))], tmp_path, (0.7, 0.3))
    spectra = embedding_structure.spectra_of(again, SPECTRUM)[0]
    ((_, other),) = embedding_structure.pairs_of_spectra(again, spectra).values()
    assert regularisation.change_of(other.settings) == "manifold mixup"
    # A sweep has no pairs: all methods share one panel.
    sweep = [run("margin", 0.5), *(run("margin", 0.6, miner="rho_distance", p=p) for p in (0.1, 0.3))]
    figure = embedding_structure.spectra(with_analyses(sweep, tmp_path, (0.7, 0.3)))
    assert "blue" not in figure.sentence
    assert all(f"p_switch={p}" in figure.svg("here") for p in (0.1, 0.3))


def test_spectra_are_averaged_over_runs_and_end_where_the_rest_is_rounding(tmp_path):
    records = [run("a", 0.5, seed=seed) for seed in range(2)]
    made = with_analyses(records, tmp_path, [0.8, 0.2], [0.6, 0.4, 0.0])
    found, n_runs = embedding_structure.spectra_of(made, SPECTRUM)
    assert (found["a"].tolist(), n_runs) == ([pytest.approx(0.7), pytest.approx(0.3)], 2)
    assert embedding_structure.spectra(inputs(records)) is None
    made = with_analyses(records, tmp_path, (0.9, 0.1, 3e-9))
    assert "Lines end where the rest is rounding of zero." in embedding_structure.spectra(made).sentence


def test_class_spectra_are_read_apart_from_the_others(tmp_path):
    records = [run("margin", 0.5), run("margin", 0.6, miner="rho_distance", p=0.3)]
    made = with_analyses(records, tmp_path, [0.9, 0.1], [0.6, 0.4], array="class_spectra/class_spectrum")
    figure = embedding_structure.class_spectra(made)
    assert "within classes" in figure.title
    assert [row[1] for row in figure.numbers] == ["60.000 %", "90.000 %"]
    assert embedding_structure.spectra(made) is None


def test_each_objective_is_paired_with_itself_under_mixup():
    def with_decay(loss: str, value: float, rho: float):
        return run(loss, value, train_rho=rho, train_class_rho=2 * rho)

    records = [with_decay("margin", 0.6, 0.3), mixed(with_decay("margin", 0.5, 0.7)), with_decay("triplet", 0.4, 0.2)]
    records += [mixed(with_decay("triplet", 0.35, 0.4)), with_decay("contrastive", 0.9, 0.1)]
    figure = regularisation.mixup(inputs(records))
    quantities = ("Recall@1 %", "\u03c1", "\u03c1 within classes")
    assert figure.columns[1:] == tuple(f"{name}, {how}" for name in quantities for how in ("without", "with"))
    assert figure.numbers[0][1:] == ("60.00", "50.00", "0.30", "0.70", "0.60", "1.40")
    assert len(figure.numbers) == 2
    assert figure.svg("here").count("<svg") == 1
    # Mixup is not rho-regularisation, and not a plain method to compare with.
    assert regularisation.regularised(inputs(records)) is None
    assert regularisation.mixup(inputs(records[::2])) is None


def test_a_map_keeps_distances_and_knows_pictures_and_classes(rich, tmp_path):
    drawn = embedding_map.maps_of(rich)
    assert len(drawn) == 4
    one = drawn[0]
    assert len(one.points) == one.n_images == 120
    assert one.names[0] == "anchor"
    assert 1.0 in {round(max(point[axis] for point in one.points), 6) for axis in (0, 1)}
    assert all(-1e-9 <= value <= 1 + 1e-9 for point in one.points for value in point[:2])
    # A gallery may list all classes.
    record = run("a", 0.5)
    folder = write_files(tmp_path, record.name)
    with np.load(folder.gallery) as file:
        arrays = {name: file[name] for name in file.files}
    write_arrays(folder.gallery, {**arrays, "class_names": np.array([f"kind {i}" for i in range(9)])})
    (one,) = embedding_map.maps_of(inputs([record], folders={record.name: folder}))
    assert one.names == {i: f"kind {i}" for i in range(6)}
    # The nine with a picture come last, on top.
    assert {point.row for point in one.points[-9:]} == {1000, 1001, 1002, 1003, 1004, 1020, 1021, 1022, 1040}


def test_a_level_holds_runs_that_differ_in_one_factor_alone():
    records = [
        run("margin", 0.5),
        changed(run("margin", 0.6), training__batch_size=56),
        changed(run("margin", 0.7), head__embedding_dim=512),
        changed(run("margin", 0.8), head__embedding_dim=512, trunk__name="googlenet", transform__side=227),
        changed(run("margin", 0.4), sampler__per_class=2),
        changed(run("margin", 0.3), sampler__per_class=8),
        changed(run("margin", 1.0), training__batch_size=28, optimiser__lr=0.5),
    ]
    found = effects_of_settings.distributions_of(inputs(records))
    assert {factor: {level: list(values) for level, values in levels.items()} for factor, levels in found.items()} == {
        "training.batch_size": {"128": [pytest.approx(100 * 5 / 6)], "56": [100]},
        "head.embedding_dim": {"128": [pytest.approx(100 * 5 / 7)], "512": [100]},
        "trunk": {"small_conv": [pytest.approx(100 * 7 / 8)], "googlenet, side 227": [100]},
        "sampler.per_class": {"4": [100], "2": [80], "8": [60]},
    }
