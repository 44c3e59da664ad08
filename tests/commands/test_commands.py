import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairground.commands.main import main
from fairground.records.store import Store
from fairground.spec.settings import parse_overrides
from tests.patience import PATIENCE, wait_for
from tests.training.tiny import TINY, tiny, tiny_words


def fairground(*words: str) -> int:
    """Run the command line in this process and return its exit code."""
    before = sys.argv
    sys.argv = ["fairground", *words]
    try:
        main()
    except SystemExit as leaving:
        return int(leaving.code or 0)
    finally:
        sys.argv = before
    return 0


def output_of(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Run the command line and return what it prints: on stderr if it is to fail with `code`, else on stdout."""
    assert fairground(*words) == code
    printed = capsys.readouterr()
    return printed.err if code else printed.out


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one finished run."""
    folder = tmp_path_factory.mktemp("cli") / "runs"
    assert fairground("train", *TINY, "--home", str(folder), "--quiet") == 0
    return folder


def test_a_finished_run_is_shown_and_not_trained_again(home, capsys):
    assert fairground("train", *TINY, "--home", str(home)) == 0
    told = capsys.readouterr()
    assert "already finished" in told.err
    assert "<- selected" in told.out
    assert "untrained" in told.out


def test_the_opening_of_the_test_split_is_written_down(home):
    name = Store(home).names()[0]
    (event,) = Store(home).events(kind="test opened", run=name)
    assert "selected on validation" in event.detail


def test_evaluate_measures_the_selected_model_again(home, capsys):
    record = next(Store(home).records())
    for split in ("validation", "test"):
        words = ("evaluate", record.name[:8], "--split", split, "-m", "map@r", "--json", "--home", str(home))
        assert json.loads(output_of(capsys, *words))["map@r"] == record.score("map@r", split)  # type: ignore[arg-type]


def test_the_test_split_of_an_unfinished_run_stays_sealed(tmp_path, capsys):
    from fairground.training.run import run

    with pytest.raises(KeyboardInterrupt):
        run(tiny(), home=tmp_path, should_stop=lambda: True)
    (name,) = (path.name for path in (tmp_path / "runs").iterdir())
    assert fairground("evaluate", name, "--split", "test", "--home", str(tmp_path)) == 1
    assert "sealed until training and selection are over" in capsys.readouterr().err
    assert f"fairground resume {name}" in output_of(capsys, "list", "runs", "--home", str(tmp_path))


def test_score_gives_intervals_and_details_on_request(tmp_path, capsys):
    draw = np.random.default_rng(0)
    file, out = tmp_path / "mine.npz", tmp_path / "details.npz"
    np.savez(file, embeddings=draw.normal(size=(60, 4)), labels=np.arange(60) % 6, groups=np.arange(60) % 10)
    words = ("-m", "recall@1", "--interval", "200", "--details", str(out), "--average", "classes")
    found = json.loads(output_of(capsys, "score", str(file), *words, "--json"))
    low, high = found["intervals"]["recall@1"]
    assert low <= found["recall@1"] <= high
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["per_class/recall@1"].mean() == pytest.approx(found["recall@1"])
    assert output_of(capsys, "score", str(file), *words).startswith("recall@1  ")


def test_score_refuses_what_it_cannot_read(tmp_path, capsys):
    np.savez(tmp_path / "lacking.npz", features=np.eye(3), labels=np.arange(3))
    assert "embeddings" in output_of(capsys, "score", str(tmp_path / "lacking.npz"), code=2)
    assert fairground("score", str(tmp_path / "nothing.npz")) == 2
    np.savez(tmp_path / "fine.npz", embeddings=np.eye(3), labels=np.zeros(3, dtype=int))
    for metrics in (",", " "):
        assert "--metrics is empty" in output_of(capsys, "score", str(tmp_path / "fine.npz"), "-m", metrics, code=2)
    assert "recall" in output_of(capsys, "score", str(tmp_path / "fine.npz"), "-m", "recal@1", code=2)


@pytest.mark.parametrize("words", ["train loss=triplett", "train loss.marginn=1", "resume zzzz", "show zzzz"])
def test_a_mistake_is_one_sentence_and_exit_code_2(words, tmp_path, capsys):
    assert fairground(*words.split(), "--home", str(tmp_path / "runs")) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("fairground: ")
    assert told.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_diverged_run_is_recorded_and_the_exit_code_says_so(tmp_path, capsys):
    words = tiny_words("loss=n_pair", "optimiser.name=sgd", "optimiser.lr=100")
    assert fairground("train", *words, "--home", str(tmp_path), "--quiet") == 1
    assert "diverged at step" in capsys.readouterr().out
    assert next(Store(tmp_path).records()).state == "diverged"


def test_a_dry_run_prints_the_whole_spec_and_starts_nothing(tmp_path, capsys):
    assert fairground("train", "loss=triplet", "--dry-run", "--home", str(tmp_path / "runs")) == 0
    assert json.loads(capsys.readouterr().out)["spec"]["loss"]["name"] == "triplet"
    assert not (tmp_path / "runs").exists()


def test_list_says_one_line_of_each(capsys):
    told = output_of(capsys, "list", "losses")
    assert any(line.startswith("triplet ") and len(line) > 30 for line in told.splitlines())
    assert "samplers" in output_of(capsys, "list")
    assert "Did you mean 'losses'" in output_of(capsys, "list", "losess", code=2)


def test_the_version_is_printed_and_groups_alone_show_their_help(capsys):
    assert output_of(capsys, "--version").startswith("fairground 0.")
    for group, command in (("data", "caches"), ("index", "remove")):
        assert f"  {command} " in output_of(capsys, group)


def test_control_c_leaves_a_resumable_run_and_says_how(tmp_path, capsys):
    words = tiny_words("training.epochs=500")
    program, home = [sys.executable, "-m", "fairground.commands.main"], ["--home", str(tmp_path)]
    command = [*program, "train", *words, *home, "--threads", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stderr is not None
    while "epoch 2/" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    (name,) = (path.name for path in (tmp_path / "runs").iterdir())
    assert f"Continue with: fairground resume {name} --home {tmp_path}" in told
    assert "Traceback" not in told
    checkpoints = tmp_path / "runs" / name / "checkpoints"
    before = max(checkpoints.glob("[0-9]*.json"))
    process = subprocess.Popen([*program, "resume", name[:6], *home], stderr=subprocess.PIPE)
    wait_for(lambda: max(checkpoints.glob("[0-9]*.json")) != before)
    process.kill()
    process.communicate()


def test_the_demo_ends_in_a_table_a_picture_and_a_page(tmp_path, monkeypatch, capsys):
    from fairground.commands import demo

    monkeypatch.setattr(demo, "METHODS", dict(list(demo.METHODS.items())[:2]))
    monkeypatch.setattr(demo, "BUDGET", parse_overrides([one for one in TINY if not one.startswith("loss")]))
    assert fairground("demo", "--home", str(tmp_path), "--seeds", "2") == 0
    told = capsys.readouterr()
    assert "contrastive" in told.out
    assert "report.html" in told.out
    assert (tmp_path / "demo" / "demo.png").stat().st_size > 5_000
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "data:image/png" in page
    assert "run 4 of 4" in told.err
    assert len(json.loads(output_of(capsys, "demo", "--home", str(tmp_path), "--seeds", "2", "--json"))["runs"]) == 4
