"""Studies at laptop size: they declare their budget and what differs, follow the papers' methods, and can be built."""

import pytest

from fairground.spec import UNSAID, jobs_of, load_study, study_names

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


@pytest.mark.parametrize("name", study_names())
def test_a_study_selects_by_what_heads_its_page(name: str) -> None:
    """The page is headed by what the runs say they were selected by; progress and waves go by the study's metric."""
    study = load_study(name)
    given = {"seed": 1, "fold": study.folds.used[0], "test": True, "unsaid": UNSAID}
    heads = {job.spec(**given).evaluation.select_by for job in jobs_of(study)}
    assert heads == {study.selection.metric}


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


def test_roths_miniatures_have_the_regularised_rows_and_analyses() -> None:
    study = load_study("laptop/roth-table2")
    labels = [method.label for method in study.methods]
    assert sum(label.startswith("R-") for label in labels) == 5
    assert len(labels) == 23
    spec = jobs_of(study)[0].spec(seed=1, test=True)
    assert set(spec.evaluation.analyses) >= {"rho", "pi", "spectrum", "class_spectra"}


@pytest.mark.parametrize("name", [name for name in study_names() if name.startswith(("roth2020/", "mlrc2020/"))])
def test_every_table_says_whether_it_follows_text_or_code(name: str) -> None:
    study = load_study(name)
    assert study.follows or study.differs
    if name.endswith("-as-run"):
        assert "as run" in study.follows or "the paper's way" in study.follows
    elif name.startswith("roth2020/"):
        assert "text" in study.follows
