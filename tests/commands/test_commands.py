import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fairground.commands.main import main
from fairground.records.store import Store
from fairground.spec.settings import parse_overrides
from tests.patience import PATIENCE
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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one finished run."""
    folder = tmp_path_factory.mktemp("cli") / "runs"
    assert fairground("train", *TINY, "--home", str(folder), "--quiet") == 0
    return folder


def test_a_finished_run_is_shown_and_not_trained_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fairground("train", *TINY, "--home", str(home)) == 0
    told = capsys.readouterr()
    assert "already finished" in told.err
    assert "<- selected" in told.out
    assert "untrained" in told.out


def test_the_opening_of_the_test_split_is_written_down(home: Path) -> None:
    name = Store(home).names()[0]
    (event,) = Store(home).events(kind="test opened", run=name)
    assert "selected on validation" in event.detail


def test_json_is_for_machines(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = Store(home).names()[0]
    assert fairground("show", name[:6], "--home", str(home), "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["name"] == name
    assert record["state"] == "done"
    assert fairground("list", "runs", "--home", str(home), "--json") == 0
    assert json.loads(capsys.readouterr().out) == {name: "done"}


def test_evaluate_measures_the_selected_model_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = next(Store(home).records())
    for split in ("validation", "test"):
        assert (
            fairground("evaluate", record.name[:8], "--split", split, "-m", "map@r", "--json", "--home", str(home)) == 0
        )
        assert json.loads(capsys.readouterr().out)["map@r"] == record.score("map@r", split)  # type: ignore[arg-type]


def test_a_run_like_another_differs_by_what_was_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = next(Store(home).records())
    words = ("train", "--like", record.name[:8], "--home", str(home), "--dry-run", "--json")
    assert fairground(*words, "training.epochs=1", "loss=triplet") == 0
    spec = json.loads(capsys.readouterr().out)["spec"]
    assert spec["loss"]["name"] == "triplet"
    changed = {key for key in spec if spec[key] != record.spec[key]}
    assert changed == {"loss", "training"}
    assert fairground(*words, "--protocol", "features") == 2
    assert "leave the protocol and the config out" in capsys.readouterr().err
    assert fairground(*words, "los=triplet") == 2
    assert "Did you mean 'loss'" in capsys.readouterr().err


def test_the_test_split_of_an_unfinished_run_stays_sealed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fairground.training.run import run

    with pytest.raises(KeyboardInterrupt):
        run(tiny(), home=tmp_path, should_stop=lambda: True)
    (name,) = (path.name for path in (tmp_path / "runs").iterdir())
    assert fairground("evaluate", name, "--split", "test", "--home", str(tmp_path)) == 1
    assert "sealed until training and selection are over" in capsys.readouterr().err
    assert fairground("list", "runs", "--home", str(tmp_path)) == 0
    assert f"fairground resume {name}" in capsys.readouterr().out


def test_score_measures_anyones_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.npz"
    np.savez(file, embeddings=np.eye(4).repeat(2, axis=0), labels=np.arange(8) // 2)
    assert fairground("score", str(file), "-m", "recall@1,map@r", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"recall@1": 1.0, "map@r": 1.0}


def test_score_gives_intervals_and_details_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(0)
    file, out = tmp_path / "mine.npz", tmp_path / "details.npz"
    np.savez(file, embeddings=draw.normal(size=(60, 4)), labels=np.arange(60) % 6, groups=np.arange(60) % 10)
    words = ("-m", "recall@1", "--interval", "200", "--details", str(out), "--average", "classes")
    assert fairground("score", str(file), *words, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    low, high = found["intervals"]["recall@1"]
    assert low <= found["recall@1"] <= high
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["per_class/recall@1"].mean() == pytest.approx(found["recall@1"])
    assert fairground("score", str(file), *words) == 0
    assert capsys.readouterr().out.startswith("recall@1  ")


def test_score_refuses_what_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "lacking.npz", features=np.eye(3), labels=np.arange(3))
    assert fairground("score", str(tmp_path / "lacking.npz")) == 2
    assert "embeddings" in capsys.readouterr().err
    np.savez(tmp_path / "objects.npz", embeddings=np.array([{}, {}], dtype=object), labels=np.arange(2))
    assert fairground("score", str(tmp_path / "objects.npz")) == 2
    assert "objects" in capsys.readouterr().err.lower()
    assert fairground("score", str(tmp_path / "nothing.npz")) == 2
    np.savez(tmp_path / "fine.npz", embeddings=np.eye(3), labels=np.zeros(3, dtype=int))
    for metrics in (",", " "):
        assert fairground("score", str(tmp_path / "fine.npz"), "-m", metrics) == 2
        assert "--metrics is empty" in capsys.readouterr().err
    assert fairground("score", str(tmp_path / "fine.npz"), "-m", "recal@1") == 2
    assert "recall" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["train", "loss=triplett"], ["train", "loss.marginn=1"], ["resume", "zzzz"], ["show", "zzzz"]]
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fairground(*words, "--home", str(tmp_path / "runs")) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("fairground: ")
    assert told.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_diverged_run_is_recorded_and_the_exit_code_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tiny_words("loss=n_pair", "optimiser.name=sgd", "optimiser.lr=100")
    assert fairground("train", *words, "--home", str(tmp_path), "--quiet") == 1
    assert "diverged at step" in capsys.readouterr().out
    assert next(Store(tmp_path).records()).state == "diverged"


def test_a_dry_run_prints_the_whole_spec_and_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fairground("train", "loss=triplet", "--dry-run", "--home", str(tmp_path / "runs")) == 0
    assert json.loads(capsys.readouterr().out)["spec"]["loss"]["name"] == "triplet"
    assert not (tmp_path / "runs").exists()


def test_list_says_one_line_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert fairground("list", "losses") == 0
    told = capsys.readouterr().out
    assert any(line.startswith("triplet ") and len(line) > 30 for line in told.splitlines())
    assert fairground("list") == 0
    assert "samplers" in capsys.readouterr().out
    assert fairground("list", "losess") == 2
    assert "Did you mean 'losses'" in capsys.readouterr().err


def test_help_is_quick_because_it_imports_neither_torch_nor_pydantic() -> None:
    code = (
        "import sys; sys.argv = ['fairground', 'train', '--help']\n"
        "from fairground.commands.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print({'torch', 'pydantic'} & sys.modules.keys())"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "set()"


def test_control_c_leaves_a_resumable_run_and_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = tiny_words("training.epochs=500")
    command = [
        sys.executable,
        "-m",
        "fairground.commands.main",
        "train",
        *words,
        "--home",
        str(tmp_path),
        "--threads",
        "1",
    ]
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
    before = sorted((tmp_path / "runs" / name / "checkpoints").glob("[0-9]*.json"))[-1]
    deadline = time.monotonic() + PATIENCE
    process = subprocess.Popen(
        [sys.executable, "-m", "fairground.commands.main", "resume", name[:6], "--home", str(tmp_path)],
        stderr=subprocess.PIPE,
    )
    while sorted((tmp_path / "runs" / name / "checkpoints").glob("[0-9]*.json"))[-1] == before:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.kill()
    process.communicate()


def test_the_demo_ends_in_a_table_a_picture_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert fairground("demo", "--home", str(tmp_path), "--seeds", "2", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 4
