"""`fg.train`, `runs`, `compare`, `report`, `study`, `load_model`: what the commands do, in Python."""

import json
import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import fairground as fg
from fairground.commands.keyword_overrides import keyword_overrides
from fairground.errors import InputError
from fairground.records.store import Store
from fairground.training.loop import StoppedError
from tests.commands.test_commands import fairground, output_of
from tests.commands.test_study import STUDY
from tests.training.tiny import TINY

SETTINGS = dict(word.split("=", 1) for word in TINY) | {"trunk.widths": [8, 16]}
SETTINGS |= {key: int(value) for key, value in SETTINGS.items() if str(value).isdigit()}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two methods of two seeds each."""
    folder = tmp_path_factory.mktemp("verbs") / "home"
    for loss in ("triplet", "margin"):
        for seed in (0, 1):
            fg.train(loss=loss, seed=seed, home=folder, quiet=True, **SETTINGS)
    return folder


@pytest.fixture
def run(home):
    return fg.train(loss="triplet", seed=0, home=home, quiet=True, **SETTINGS)


def test_a_run_has_scores_a_history_a_folder_and_a_record(home, run):
    assert not run.is_new
    assert run.record == Store(home).get(run.name)
    assert run.scores["map@r"] == run.record.score("map@r", "test")
    assert run.validation_scores["map@r"] == run.record.score("map@r", "validation")
    assert [row.epoch for row in run.history] == [0, 1, 2, 3]
    assert (run.folder / "spec.json").is_file()
    assert run.state == "done"
    assert f"{run.name}: triplet on synthetic, seed 0, done" in repr(run)


def test_the_command_finds_the_run_that_the_call_trained(home, run, capsys):
    assert fairground("train", *TINY, "loss=triplet", "seed=0", "--home", str(home), "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(run.record.to_json())


def test_a_run_like_another(home, run):
    like = fg.train(like=run, home=home, quiet=True, seed=78, **{"training.epochs": 1, "evaluation.test": False})
    assert like.is_new
    assert [row.epoch for row in like.history] == [0, 1]
    with pytest.raises(ValueError, match="leave the protocol and the config out"):
        fg.train("laptop", like=run.name, home=home)


def test_the_environment_names_the_home(home, run, monkeypatch):
    monkeypatch.setenv("FAIRGROUND_HOME", str(home))
    assert [found.name for found in fg.runs(run.name[:8])] == [run.name]


def test_ctrl_c_stops_after_a_batch_and_the_same_call_goes_on(tmp_path, run, monkeypatch):
    @contextmanager
    def interrupting(*_, **__):
        yield lambda event: type(event).__name__ == "BatchTrained" and os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    call = {"loss": "triplet", "seed": 0, "home": tmp_path, "quiet": True, **SETTINGS}
    with monkeypatch.context() as patch:
        patch.setattr("fairground.commands.train.training_progress", interrupting)
        with pytest.raises(StoppedError):
            fg.train(**call)
    assert signal.getsignal(signal.SIGINT) is before
    assert fg.train(**call).record.digits() == run.record.digits()


def test_a_run_may_be_trained_outside_the_main_thread(tmp_path, run):
    found = []
    call = {"loss": "triplet", "seed": 0, "home": tmp_path, "quiet": True, **SETTINGS}
    thread = threading.Thread(target=lambda: found.append(fg.train(**call)))
    thread.start()
    thread.join()
    assert found[0].record.digits() == run.record.digits()


def test_the_number_of_threads_is_given_back(tmp_path):
    import torch

    before = torch.get_num_threads()
    fg.train(loss="triplet", home=tmp_path, threads=2, quiet=True, **{**SETTINGS, "training.epochs": 1})
    assert torch.get_num_threads() == before


def test_runs_are_found_by_what_was_asked(home, run):
    short = {"training.epochs": 3}
    assert len(fg.runs(home=home, **short)) == 4
    assert [found.record.spec["seed"] for found in fg.runs(home=home, loss="triplet", **short)] == [0, 1]
    assert len(fg.runs(home=home, loss="TripletLoss", seed=1)) == 1
    assert len(fg.runs(home=home, loss={"name": "triplet", "margin": 0.1}, miner=None, **short)) == 2
    assert len(fg.runs(home=home, **{"loss.margin": 77.0})) == 0
    assert fg.runs(run.record.method, home=home).records == fg.runs(home=home, loss="triplet", **short).records
    assert fg.runs(home=home)[:2].records == fg.runs(home=home).records[:2]
    assert len(fg.runs(home=home / "nothing")) == 0
    with pytest.raises(ValueError, match=r"no run has a setting 'loss\.marginn'\. Did you mean 'loss\.margin'\?"):
        fg.runs(home=home, **{"loss.marginn": 1})
    with pytest.raises(ValueError, match="no loss 'triplett'"):
        fg.runs(home=home, loss="triplett")


def test_trials_and_unfinished_runs_are_found_when_asked_for(tmp_path):
    fg.train(home=tmp_path, quiet=True, **{**SETTINGS, "evaluation.test": False, "training.epochs": 1})
    assert len(fg.runs(home=tmp_path)) == 0
    assert len(fg.runs(home=tmp_path, trials=True)) == 1
    assert len(fg.runs(home=tmp_path, trials=True, state="diverged")) == 0


def test_compare_prints_what_the_command_prints(home, capsys):
    three = {"training.epochs": 3}
    found = fg.compare(fg.runs(home=home, loss="triplet", **three), fg.runs(home=home, loss="margin", **three))
    printed = capsys.readouterr().out
    methods = {record.method for record in (*fg.runs(home=home, **three).records,)}
    assert fairground("compare", *sorted(methods, reverse=True), "--home", str(home)) in (0, 2)
    assert sorted(printed.splitlines()) == sorted(capsys.readouterr().out.splitlines())
    assert found.is_fair
    assert found.metric == "map@r"
    assert {row["method"] for row in found.to_dict()["rows"]} == {"triplet", "margin"}
    assert "\\begin{tabular}" in found.to_latex()
    assert fg.compare(*methods, home=home, quiet=True).to_dict()["pairs"] == found.to_dict()["pairs"]
    assert capsys.readouterr().out == ""


def test_tables_are_data_frames_of_pandas(home, run, monkeypatch):
    three = {"training.epochs": 3}
    triplets, margins = (fg.runs(home=home, loss=loss, **three) for loss in ("triplet", "margin"))
    found = fg.compare(list(triplets), [one.name for one in margins], home=home, quiet=True)
    assert found.to_dict() == fg.compare(triplets, margins, home=home, quiet=True).to_dict()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="to_pandas needs a package that is not installed: pip install pandas"):
        run.to_pandas()
    # The package is not needed for anything else, so it is not installed for this: its frame of rows.
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    rows = found.to_pandas()
    scores = found.to_dict()["rows"]
    assert [row["method"] for row in rows] == [row["method"] for row in scores]
    for row, score in zip(rows, scores, strict=True):
        span = score["scores"]["map@r"]
        assert (row["map@r"], row["map@r low"], row["map@r high"]) == (span["mean"], span["low"], span["high"])
    assert [(row["epoch"], row["validation map@r"]) for row in run.to_pandas()] == [
        (row.epoch, row.validation["map@r"]) for row in run.history
    ]
    listed = next(row for row in fg.runs(home=home).to_pandas() if row["run"] == run.name)
    assert (listed["run"], listed["loss"], listed["map@r"]) == (run.name, "triplet", run.scores["map@r"])


def test_an_unfair_comparison_is_refused_and_shown_when_insisted_on(home, capsys, run):
    fg.train(like=run, home=home, quiet=True, **{"training.epochs": 1})
    with pytest.raises(ValueError, match="`anyway=True` shows the table"):
        fg.compare(home=home)
    assert not fg.compare(home=home, anyway=True).is_fair
    assert "[unfair]" in capsys.readouterr().out
    with pytest.raises(ValueError, match="there is no finished run to compare"):
        fg.compare(fg.runs(home=home, seed=77), home=home)


def test_a_page_is_written_of_runs(home, tmp_path):
    chosen = fg.runs(home=home, loss="margin")
    written = fg.report(chosen, out=tmp_path / "page", formats=["csv"], title="Margins", quiet=True)
    assert "Margins" in Path(written).read_text()
    assert written.runs == tuple(run.name for run in chosen)
    assert [path.suffix for path in written.tables] == [".csv"]
    with pytest.raises(ValueError, match="formats takes md, tex, csv; got 'docx'"):
        fg.report(home=home, formats=["docx"])
    with pytest.raises(ValueError, match="no run to report"):
        fg.report(fg.runs(home=home, seed=77))


def test_a_study_returns_tables_records_and_a_page(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(STUDY)
    call = {"executor": "inline", "home": tmp_path / "home", "quiet": True, "search": {"trials": 0}, "repeats": 1}
    result = fg.study(str(tmp_path / "mine.toml"), **call)
    assert len(result.records) == 4
    assert "toy, separated: the mean over 2 fold models of a repeat" in result.table()
    assert "\\begin{tabular}" in result.table("tex")
    assert result.page.is_file()
    assert "Which of two?" in result.report(tmp_path / "page.html").read_text()
    words = ("search.trials=0", "repeats=1", "--executor", "inline", "--home", str(tmp_path / "home"), "--quiet")
    assert output_of(capsys, "study", str(tmp_path / "mine.toml"), *words).startswith(str(result))
    assert result.to_dict()["jobs"][0]["method"] == "triplet"
    with pytest.raises(ValueError, match="a table is one of text, md, tex, csv"):
        result.table("docx")
    with pytest.raises(ValueError, match="no study 'tinny'"):
        fg.study("tinny", home=tmp_path)


@pytest.fixture
def pictures(tmp_path):
    generator = np.random.default_rng(0)
    paths = []
    for name in ("b", "a", "c"):
        pixels = generator.integers(0, 255, (16, 16), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
        paths.append(tmp_path / f"{name}.png")
    return paths


def test_a_model_embeds_files_in_the_order_given(home, run, pictures, tmp_path):
    model = fg.load_model(run)
    found = model.embed([str(path) for path in pictures])
    assert found.shape == (3, 16)
    assert found.dtype == np.float32
    for path, row in zip(pictures, found, strict=True):
        assert np.allclose(model.embed(path)[0], row, atol=1e-6)
    model.export(tmp_path / "my_model")
    assert np.allclose(fg.load_model(tmp_path / "my_model").embed(pictures[::-1]), found[::-1], atol=1e-6)
    assert not np.allclose(np.linalg.norm(model.embed(pictures, raw=True), axis=1), 1)
    with pytest.raises(ValueError, match="list of image files is empty"):
        model.embed([])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: fg.train("labtop"), "no protocol 'labtop'. Did you mean 'laptop'?"),
        (lambda: fg.train(los="triplet"), "the call: no key 'los'. Did you mean 'loss'?"),
        (lambda: fg.train(loss="triplett"), "no loss 'triplett'. Did you mean 'triplet'?"),
        (lambda: fg.train(loss={"name": "triplet", "margin": 3}, home="nowhere"), "triplet.margin must be in"),
        (lambda: fg.train(threads=0), "threads must be at least 1; got 0"),
        (lambda: fg.train(loggers=["tensorbord"]), "Did you mean 'tensorboard'?"),
        (lambda: fg.study("tiny", workers=0), "workers must be at least 1; got 0"),
        (lambda: fg.study("tiny", executor="proceses"), "Did you mean 'processes'?"),
        (lambda: fg.runs("3f2a", home="nowhere"), "no run '3f2a'"),
        (lambda: fg.compare("3f2a", home="nowhere"), "no run '3f2a'"),
        (lambda: fg.report("3f2a", home="nowhere"), "no study or run '3f2a'"),
        (lambda: fg.load_model("nothing", home="nowhere"), "no run 'nothing'"),
        (lambda: fg.recommend("nothing"), "there is nothing at 'nothing'"),
        (lambda: fg.recommend("icons", time="soon"), "time takes a number with s, m or h"),
        (lambda: fg.evaluate(np.zeros((2, 2)), np.zeros(2), metrics="recall@1"), "metrics must be a list of names"),
        (lambda: fg.evaluate(np.zeros((2, 2)), np.zeros(3)), "got"),
        (lambda: fg.losses.TripletLoss(margin=3), "triplet.margin must be in"),
        (lambda: fg.samplers.UniformSampler(labels=np.zeros(3, int), batch_size=0), "batch size must be at least 1"),
    ],
)
def test_bad_input_is_a_value_error_with_a_sentence(call, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as refusal:
        call()
    assert isinstance(refusal.value, InputError)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "overrides"),
    [
        ({"loss": "margin", "seed": 3}, {"loss": "margin", "seed": 3}),
        ({"miner": None, "regulariser": "none"}, {"miner": None, "regulariser": None}),
        ({"loss": {"name": "margin", "beta": 1.2}}, {"loss": "margin", "loss.beta": 1.2}),
        ({"optimiser": {"lr": 3e-4, "name": "adamw"}}, {"optimiser.lr": 3e-4, "optimiser.name": "adamw"}),
        ({"trunk": {"widths": (8, 16)}}, {"trunk.widths": [8, 16]}),
        ({"data": {"root": Path("my photos")}}, {"data.root": "my photos"}),
        ({"data": {"root": "2024"}}, {"data.root": "2024"}),
        ({"seed": np.int64(4), "loss.margin": np.float64(0.5)}, {"seed": 4, "loss.margin": 0.5}),
        ({"loss.inner": {"margin": 0.1}}, {"loss.inner": {"margin": 0.1}}),
    ],
)
def test_a_keyword_is_an_override(settings, overrides):
    found = keyword_overrides(settings)
    assert found == overrides
    assert [type(value) for value in found.values()] == [type(value) for value in overrides.values()]


def test_what_cannot_be_in_a_spec_is_refused():
    with pytest.raises(ValueError, match=r"training\.epochs must be text, a number, .*; got object"):
        keyword_overrides({"training": {"epochs": object()}})
    with pytest.raises(ValueError, match=r"'loss\.beta' is given twice"):
        keyword_overrides({"loss": {"beta": 1}, "loss.beta": 2})
