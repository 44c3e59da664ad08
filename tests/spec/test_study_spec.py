"""Studies: what their TOML says, what is refused, and how they are named."""

import dataclasses

import pytest

from fairground.errors import InputError
from fairground.papers.published_numbers import PublishedRow, published_rows
from fairground.spec import LOSS_RATE, UNSAID, StudyJob, catalogue, declared, jobs_of, settings_of, study_hash, to_plain
from fairground.spec.grid_search import grid_of
from fairground.spec.load_study_spec import load_study, read_range, study_from_plain, study_names
from fairground.spec.search_ranges import Choice, Integer, LogReal, Real, range_for

SMALL = """
protocol = "laptop"
repeats = 2
[data]
icons = ["data=icons"]
[methods]
triplet = ["loss=triplet"]
"""


def said(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_a_file_says_a_study_and_is_named_by_its_stem(tmp_path):
    study = load_study(said(tmp_path, SMALL))
    assert (study.name, study.repeats, study.search.trials, study.folds.used) == ("mine", 2, 0, (0,))
    assert [cell.label for cell in jobs_of(study)] == ["icons/triplet"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (SMALL.replace("repeats", "repeat"), "no key 'repeat'. Did you mean 'repeats'?"),
        (SMALL + "[folds]\nn = 4\nuse = [0, 4]\n", "folds.use must name folds in 0..3, each once; got [0, 4]"),
        (SMALL + "[search]\npruning = 'median'\n", "search.prune_after must be below the number of folds, 1"),
        (SMALL.replace('["loss=triplet"]', '["triplet"]'), "'triplet' is not an override: write key=value"),
        (SMALL.replace('["loss=triplet"]', '{ words = ["loss=triplet"], on = ["cub"] }'), "is on 'cub'"),
        (SMALL.partition("[methods]")[0], "names no method"),
        (
            SMALL.replace('["loss=triplet"]', '["training.epochs=0"]') + "[budget]\nepochs = 2\n",
            "'triplet' sets training.epochs, which [budget] sets for every run",
        ),
        (SMALL + "[search.ranges]\n'loss.margin' = { low = 1, hight = 2 }\n", "no key 'hight'. Did you mean 'high'?"),
        ("extends = 'laptop/mlcr'\n", "no study 'laptop/mlcr'. Did you mean 'laptop/mlrc'?"),
        ("protocol = [", "is not TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(tmp_path, text, complaint):
    with pytest.raises(InputError) as refusal:
        load_study(said(tmp_path, text))
    assert complaint in str(refusal.value)


def test_a_study_extends_another_and_may_take_entries_away(tmp_path):
    study = load_study(said(tmp_path, 'extends = "tiny"\nrepeats = 7\n[methods]\ntriplet = "none"\n'))
    assert [method.label for method in study.methods] == ["contrastive"]
    assert (study.repeats, study.search.trials) == (7, 4)


def test_a_study_extends_a_file_that_lies_in_its_folder(tmp_path):
    (tmp_path / "base.toml").write_text('extends = "tiny"\nrepeats = 7\n', encoding="utf-8")
    study = load_study(said(tmp_path, 'extends = "base.toml"\nquestion = "again?"\n'))
    assert (study.repeats, study.search.trials, study.question) == (7, 4, "again?")
    with pytest.raises(InputError, match="base"):
        load_study(said(tmp_path, 'extends = "other_base.toml"\n'))


def test_a_trial_does_not_watch_the_test_split_its_final_runs_do():
    (cell, *_) = jobs_of(load_study("tiny", changes={"evaluation.watch_test": True}))
    assert not cell.spec(seed=0, test=False).evaluation.watch_test
    assert cell.spec(seed=0, test=True).evaluation.watch_test


def test_changes_reach_the_study_its_budget_or_its_runs():
    study = load_study("tiny", changes={"repeats": 5, "search.trials": 9, "training.epochs": 3, "data.path": "x"})
    assert (study.repeats, study.search.trials, study.budget.epochs) == (5, 9, 3)
    assert study.overrides[-1] == "data.path=x"


def test_ranges_of_every_kind():
    assert read_range("r", {"low": 0, "high": 2}) == Real(low=0.0, high=2.0)
    assert read_range("r", {"low": 1e-3, "high": 2, "scale": "log"}) == LogReal(low=1e-3, high=2.0)
    assert read_range("r", {"low": 2, "high": 9, "whole": True}) == Integer(low=2, high=9)
    assert read_range("r", {"options": ["a", "b"]}) == Choice(options=("a", "b"))


def test_more_repeats_are_the_same_study_another_seed_is_not():
    study = load_study("tiny")
    other = dataclasses.replace(study, repeats=9, question="?", name="x", kind="toy", follows="?", differs="?")
    assert study_hash(other) == study_hash(study)
    assert study_hash(dataclasses.replace(study, seed=1)) != study_hash(study)


def test_a_changed_study_follows_nothing_and_lists_what_was_changed(tmp_path):
    paper = load_study("roth2020/table4")
    assert paper.follows
    assert not paper.differs
    same = load_study("roth2020/table4", changes={"data.root": "/data/{data}"})
    assert (same.follows, same.differs) == (paper.follows, "")
    found = load_study("roth2020/table4", changes={"training.epochs": 2, "trunk": "small_conv", "repeats": 2})
    changes = "trunk small_conv (there resnet50), training.epochs 2 (there 150), repeats 2 (there 5)"
    assert (found.follows, found.differs) == ("", f"changed from roth2020/table4: {changes}")
    # Fewer seeds are the paper's runs all the same.
    fewer = load_study("roth2020/table4", changes={"repeats": 2})
    assert (fewer.follows, fewer.differs) == (paper.follows, "changed from roth2020/table4: repeats 2 (there 5)")
    own = load_study(said(tmp_path, 'extends = "roth2020/table4"\n[methods]\nAngular = "none"\nx = ["loss=circle"]'))
    assert own.follows == ""
    assert own.differs == "changed from roth2020/table4: without cub200/Angular, with cub200/x"
    stated = load_study(said(tmp_path, 'extends = "roth2020/table4"\nfollows = "me"\n[budget]\nepochs = 1'))
    assert (stated.follows, stated.differs) == ("me", "")


@pytest.mark.parametrize(
    ("name", "kind", "varied"),
    [
        ("roth2020/figure2", "factor", "training.batch_size"),
        ("roth2020/table7-as-run", "factor", "sampler"),
        ("laptop/roth-figure1", "regularisation", "loss"),
        ("mlrc2020/figure1", "toy", "data.space"),
        ("roth2020/figure5", "correlation", "loss"),
        ("mlrc2020/table1-as-run", "untrained", "trunk"),
        ("mlrc2020/figure2", "progress", "loss"),
        ("roth2020/table2", "ranking", ""),
    ],
)
def test_every_study_says_what_kind_of_answer_it_wants(name, kind, varied):
    study = load_study(name)
    assert study.kind == kind
    assert varied in (*study.varied, "")
    assert study_from_plain(to_plain(study)) == study


def test_a_study_survives_being_written_down(tmp_path):
    text = SMALL + (
        "[search]\ntrials = 3\n[search.ranges]\n'loss.margin' = { low = 0.1, high = 1, scale = 'log' }\n"
        "'loss.power' = { options = [1, 2] }\n'training.batch_size' = { low = 2, high = 9, whole = true }\n"
    )
    study = load_study(said(tmp_path, text))
    assert study_from_plain(to_plain(study)) == study


def test_a_cell_says_its_runs():
    study = load_study("tiny")
    cell = jobs_of(study)[1]
    sealed = cell.spec(seed=3, fold=1, settings={"loss.margin": 0.25}, test=False)
    assert not sealed.evaluation.test
    assert (sealed.seed, sealed.split.settings["fold"], sealed.loss.settings["margin"]) == (3, 1, 0.25)
    assert (sealed.training.epochs, sealed.training.batches_per_epoch) == (1, 10)
    assert cell.spec(seed=3, fold=1, test=True).evaluation.test


def test_ranges_come_from_the_parts_and_the_loss_own_rate(tmp_path):
    text = SMALL + 'soft = ["loss=normalised_softmax"]\nms = ["loss=multi_similarity", "miner=multi_similarity"]\n'
    ranges = {cell.method.label: cell.ranges() for cell in jobs_of(load_study(said(tmp_path, text)))}
    assert list(ranges["triplet"]) == ["loss.margin"]
    assert ranges["soft"]["optimiser.loss_lr"] == LOSS_RATE
    assert set(ranges["ms"]) == {"loss.alpha", "loss.beta", "loss.base", "miner.epsilon"}
    explicit = load_study(said(tmp_path, text + "[search]\nspace = 'explicit'\n"))
    assert [cell.ranges() for cell in jobs_of(explicit)] == [{}, {}, {}]


def test_data_in_a_word_is_the_label_of_the_data_set():
    study = load_study("mlrc2020/table5", changes={"data.root": "/somewhere/{data}"})
    spec = jobs_of(study)[0].spec(seed=0, fold=0, test=True)
    assert spec.data.settings["root"] == "/somewhere/cars196"
    with pytest.raises(InputError, match=r"cars196 needs data\.root"):
        jobs_of(load_study("mlrc2020/table5"))[0].spec(seed=0, fold=0, test=True)


def test_nothing_is_searched_under_a_protocol_that_selects_on_test(tmp_path):
    words = '["loss=triplet", "evaluation.select_on=test", "split.validation=0.0"]'
    study = load_study(said(tmp_path, SMALL.replace('["loss=triplet"]', words) + "[search]\ntrials = 3\n"))
    with pytest.raises(InputError, match="selects on the test split, so nothing can be searched under it"):
        jobs_of(study)[0].spec(seed=0, test=False)


#: search and final trainings of each table at full size: methods x 50 trials x 4 folds, methods x 10 repeats x 4 folds
PAPERS = {
    "mlrc2020/all": (3 * 14 * 50 * 4, 3 * 14 * 10 * 4),
    "mlrc2020/table4": (14 * 50 * 4, 14 * 10 * 4),
    "mlrc2020/table5": (14 * 50 * 4, 14 * 10 * 4),
    "mlrc2020/table6": (14 * 50 * 4, 14 * 10 * 4),
    "mlrc2020/batch256": (14 * 50 * 4, 14 * 10 * 4),
    "mlrc2020/pretrained": (0, 3 * 2),
    "mlrc2020/table1": (0, 3 * 3),
    "roth2020/table1": (0, 3 * 3 * 5),
    "roth2020/table2": (0, (23 + 23 + 21) * 5),
    "roth2020/table4": (0, 23 * 5),
    "roth2020/table6": (0, 21 * 5),
    "roth2020/table7": (0, 49 * 5),
    "roth2020/table9": (0, 36 * 5),
}


@pytest.mark.parametrize("name", study_names())
def test_every_study_loads_and_every_cell_is_a_run(name):
    study = load_study(name)
    assert study.question.endswith("?")
    cells = jobs_of(study)
    for cell in cells:
        is_fixed = study.search.trials == 0
        spec = cell.spec(seed=study.seed, fold=study.folds.used[0], test=is_fixed, unsaid="?")
        # What the runs were selected by heads the page; progress and waves go by the study's metric.
        assert spec.evaluation.select_by == study.selection.metric
    runs = tuple(len(cells) * n * len(study.folds.used) for n in (study.search.trials, study.repeats))
    assert runs == PAPERS.get(name, runs)
    assert study.follows or study.differs or not name.startswith(("roth2020/", "mlrc2020/"))
    if name.endswith("-as-run"):
        assert "as run" in study.follows or "the paper's way" in study.follows
    elif name.startswith("roth2020/"):
        assert "text" in study.follows


def spans(name, data, method):
    (cell,) = [cell for cell in jobs_of(load_study(name)) if cell.label == f"{data}/{method}"]
    return cell.ranges()


MLRC = [
    ("cub200", "NT-Xent", "loss.temperature", LogReal(low=1e-4, high=100)),
    ("cars196", "NT-Xent", "loss.temperature", LogReal(low=1e-5, high=100)),
    ("sop", "NT-Xent", "loss.temperature", LogReal(low=1e-5, high=100)),
    ("sop", "ArcFace", "loss.scale", Real(low=0.01, high=300)),
    ("cub200", "ArcFace", "loss.scale", Real(low=0.01, high=200)),
    ("cars196", "FastAP", "loss.bins", Integer(low=2, high=32)),
    ("cub200", "MS", "loss.alpha", Real(low=0.001, high=100)),
    ("sop", "MS", "loss.alpha", Real(low=0.01, high=100)),
    ("sop", "MS+Miner", "loss.beta", Real(low=0.01, high=200)),
    ("cub200", "MS+Miner", "miner.epsilon", Real(low=0, high=1)),
    ("cars196", "SoftTriple", "loss.gamma", Real(low=0.01, high=100)),
    ("cub200", "SoftTriple", "loss.gamma", Real(low=1e-4, high=100)),
    ("sop", "SoftTriple", "loss.scale", Real(low=0.01, high=200)),
    ("sop", "SoftTriple", "loss.reg_weight", None),
    ("cub200", "SoftTriple", "loss.reg_weight", Real(low=0, high=1)),
]


@pytest.mark.parametrize(("data", "method", "setting", "span"), MLRC)
def test_mlrc_searched_what_its_plots_show(data, method, setting, span):
    assert spans("mlrc2020/all", data, method).get(setting) == span


def test_ranges_of_a_data_set_are_written_down_and_read_back(tmp_path):
    text = SMALL.replace('["data=icons"]', "{ words = ['data=icons'], ranges.triplet = { 'loss.margin' = 'fixed' } }")
    study = load_study(said(tmp_path, text))
    assert jobs_of(study)[0].ranges() == {}
    assert study_from_plain(to_plain(study)) == study
    # A study without such ranges is written down, and so named, as before.
    assert "ranges" not in to_plain(load_study("tiny"))["data"][0]


def test_every_combination_from_end_to_end():
    ranges = {"a": Real(low=0, high=1), "b": LogReal(low=0.01, high=1), "c": Choice(options=("x", "y"))}
    points = grid_of(ranges, 18)
    assert len(points) == 18
    assert points[0] == {"a": 0.0, "b": 0.01, "c": "x"}
    assert points[-1] == {"a": 1.0, "b": 1.0, "c": "y"}
    assert sorted({point["a"] for point in points}) == [0.0, 0.5, 1.0]
    assert sorted({point["b"] for point in points}) == [0.01, 0.1, 1.0]
    assert len({tuple(point.items()) for point in points}) == 18
    # Four levels of each would be 32 points: three it stays.
    assert grid_of(ranges, 31) == points


def test_whole_numbers_are_tried_one_by_one_and_not_twice():
    points = grid_of({"bins": Integer(low=2, high=32)}, 50)
    assert [point["bins"] for point in points] == list(range(2, 33))
    assert [point["bins"] for point in grid_of({"bins": Integer(low=2, high=32)}, 4)] == [2, 12, 22, 32]


def test_choices_are_complete_or_refused():
    ranges = {"loss.a": Choice(options=(1, 2, 3)), "loss.b": Real(low=0, high=1)}
    assert len(grid_of(ranges, 6)) == 6
    with pytest.raises(InputError, match=r"search.trials must be at least 6 for a grid over loss.a, loss.b.*got 5"):
        grid_of(ranges, 5)
    assert grid_of({}, 3) == [{}]


def test_a_study_has_as_many_trials_as_its_grid_has_points():
    study = load_study("tiny", changes={"search.sampler": "grid", "search.trials": 7})
    trials = {job.method.label: (job.n_trials(), job.search_procedure().trials) for job in jobs_of(study)}
    # Two margins of the contrastive loss make a grid of 2 x 2; one of the triplet loss has seven levels.
    assert trials == {"contrastive": (4, 4), "triplet": (7, 7)}


OPTIMA = published_rows("mlrc2020/hyperparameters")


def searching_job(row: PublishedRow) -> StudyJob:
    """The job of an MLRC study that searches what the row prints the optimum of."""
    tables = {"cub200": "table4", "cars196": "table5", "sop": "table6"}
    is_large = row.setting == "training.batch_size=256"
    study = load_study("mlrc2020/batch256" if is_large else f"mlrc2020/{tables[row.dataset]}")
    jobs = {f"{job.method.words} ".replace("{data}", job.data.label): job for job in jobs_of(study)}
    [job] = [job for words, job in jobs.items() if f"'loss={row.method}'" in words]
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
    for key, span in declared("losses", name, "tunable", {}).items():
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


MINIATURES = [name for name in study_names() if name.startswith(("laptop/", "features/"))]


@pytest.mark.parametrize("name", MINIATURES)
def test_budget_and_differences_are_declared_and_every_run_can_be_said(name: str) -> None:
    study = load_study(name)
    assert study.budget.batches_per_epoch > 0
    assert study.differs
    for job in jobs_of(study):
        spec = job.spec(seed=1, fold=study.folds.used[0], test=True, unsaid=UNSAID)
        assert spec.training.epochs == study.budget.epochs
        # One for photographs makes three channels of 224 pixels, which a network for icons refuses.
        assert spec.transform.name == "small_images" or name.startswith("features/")


def test_what_differs_is_said_with_the_budget_as_changed() -> None:
    said = (
        "icons and a small network, trained from random weights with its batch norm, for photographs and a pretrained "
        "ResNet-50 with frozen batch norm; Adam at 1e-3 without weight decay for 1e-5 with 4e-4; {}; classes and "
        "images of a batch are drawn without replacement; epochs are selected by MAP@R on validation classes, not by "
        "Recall@1 on test classes; {} instead of 5"
    )
    assert load_study("laptop/roth-table2").differs == said.format("3 epochs of 30 batches", "3 seeds")
    changes = {"repeats": 1, "budget.epochs": 1, "budget.batches_per_epoch": 5}
    found = load_study("laptop/roth-table2", changes=changes)
    assert found.differs == said.format("1 epoch of 5 batches", "1 seed")
    waves = load_study("laptop/roth-table2", changes={"until_settled": True, "budget.epochs": 0})
    assert waves.differs == said.format("the protocol's epochs of 30 batches", "3 to 15 seeds")
    assert "6 trials in waves with median pruning" in load_study("laptop/mlrc", changes={"search.trials": 6}).differs


@pytest.mark.parametrize("name", ["laptop/mlrc", "features/mlrc"])
def test_the_reality_check_follows_the_paper(name: str) -> None:
    """All 14 methods, all tuples of a batch, one image per class for classification losses and four for others."""
    paper = load_study("mlrc2020/all")
    study = load_study(name)
    assert [method.label for method in study.methods] == [method.label for method in paper.methods]
    theirs = {job.method.label: job for job in jobs_of(paper) if job.data.label == "cub200"}
    for job in jobs_of(study):
        ours, other = (one.spec(seed=1, fold=0, test=True, unsaid=UNSAID) for one in (job, theirs[job.method.label]))
        assert (ours.loss.name, ours.miner) == (other.loss.name, other.miner)
        assert ours.sampler.settings["per_class"] == other.sampler.settings["per_class"]
        assert ours.training.batch_size == other.training.batch_size == 32
