"""Figures 10 and 12 of Roth's supplement: class spectra, and what mixup does."""

import numpy as np
import pytest

from fairground.records.arrays import write_arrays
from fairground.records.run_folder import RunFolder
from fairground.reporting.figures import class_spectra, mixup, regularised, spectra
from tests.reporting.figure_runs import changed, inputs, run


def test_class_spectra_are_read_apart_from_the_others(tmp_path):
    records = [run("margin", 0.5), run("margin", 0.6, miner="rho_distance", p=0.3)]
    folders = {}
    for record, top in zip(records, (0.9, 0.6), strict=True):
        folders[record.name] = RunFolder(tmp_path, record.name).make()
        write_arrays(
            folders[record.name].analyses,
            {"spectrum/spectrum": np.array([0.5, 0.5]), "class_spectra/class_spectrum": np.array([top, 1 - top])},
        )
    made = inputs(records, folders=folders)
    found = {spectrum.is_changed: spectrum for spectrum in spectra.spectra_of(made, class_spectra.ARRAY)}
    assert found[False].shares.tolist() == [pytest.approx(0.9), pytest.approx(0.1)]
    assert found[True].base == found[False].label
    figure = class_spectra.figure_of(made)
    assert "within classes" in figure.title
    assert figure.numbers[0][1] == "60.000 %"
    assert figure.svg("here").count("<svg") == 1
    assert class_spectra.figure_of(inputs(records)) is None


def mixed(record):
    return changed(record, regulariser={"name": "manifold_mixup", "alpha": 2.0})


def test_each_objective_is_paired_with_itself_under_mixup():
    def with_decay(loss: str, value: float, rho: float):
        return run(loss, value, train_rho=rho, train_class_rho=2 * rho)

    records = [
        with_decay("margin", 0.6, 0.3),
        mixed(with_decay("margin", 0.5, 0.7)),
        with_decay("triplet", 0.4, 0.2),
        mixed(with_decay("triplet", 0.35, 0.4)),
        with_decay("contrastive", 0.9, 0.1),
    ]
    figure = mixup.figure_of(inputs(records))
    assert figure.columns[1:] == (
        "Recall@1 %, without",
        "Recall@1 %, with",
        "\u03c1, without",
        "\u03c1, with",
        "\u03c1 within classes, without",
        "\u03c1 within classes, with",
    )
    assert figure.numbers[0][1:] == ("60.00", "50.00", "0.30", "0.70", "0.60", "1.40")
    assert len(figure.numbers) == 2
    assert figure.svg("here").count("<svg") == 1
    # Mixup is no rho-regularisation, and no plain method that one could be compared with.
    assert regularised.pairs_of(inputs(records)) == {}
    assert mixup.figure_of(inputs(records[::2])) is None


def test_a_pair_under_mixup_has_a_panel_of_spectra(tmp_path):
    records = [run("margin", 0.6), mixed(run("margin", 0.5))]
    folders = {}
    for record in records:
        folders[record.name] = RunFolder(tmp_path, record.name).make()
        write_arrays(folders[record.name].analyses, {"spectrum/spectrum": np.array([0.7, 0.3])})
    found = spectra.spectra_of(inputs(records, folders=folders))
    ((without, mixed_up),) = spectra.pairs_of_spectra(found).values()
    assert (without.is_changed, mixed_up.change) == (False, "manifold mixup")
