"""`fairground study`, `reproduce` and `evaluate` of a study, on the smallest real runs."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.commands.options import executor_of
from fairground.records.store import Store
from fairground.spec.load_study_spec import load_study
from fairground.studies import JobResult, Trial, failures_of, status_of
from tests.commands.test_commands import fairground, output_of
from tests.patience import PATIENCE, wait_for
from tests.training.tiny import TINY

STUDY = f"""
question = "Which of two?"
overrides = {json.dumps([word for word in TINY if not word.startswith(("loss", "split", "miner"))])}
repeats = 2
[budget]
epochs = 1
batches_per_epoch = 3
[data]
toy = []
[methods]
triplet = ["loss=triplet"]
contrastive = ["loss=contrastive"]
[search]
trials = 2
startup = 2
wave = 2
sampler = "random"
[folds]
split = "class_folds"
n = 2
"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "mine.toml").write_text(STUDY)
    with contextlib.redirect_stdout(io.StringIO()) as told:
        assert fairground("study", str(folder / "mine.toml"), *options(folder), "--quiet") == 0
    (folder / "told.txt").write_text(told.getvalue())
    return folder


@pytest.fixture(scope="module")
def plain(begun):
    with contextlib.redirect_stdout(io.StringIO()) as told:
        assert fairground("study", "resume", "mine", *options(begun), "--json") == 0
    return json.loads(told.getvalue())


def options(folder):
    return ("--executor", "inline", "--home", str(folder / "home"))


def test_a_study_ends_with_both_tables_and_a_page(begun):
    told = (begun / "told.txt").read_text()
    assert "toy, separated: the mean over 2 fold models of a repeat" in told
    assert "toy, concatenated: the 2 fold models of a repeat joined into one" in told
    assert "toy/triplet: 2 trials, " in told
    assert "report.html" in told


def test_status_tells_trials_seal_and_who(begun, capsys):
    told = output_of(capsys, "study", "status", "mine", "--home", str(begun / "home"))
    assert "toy/triplet: 2 trials (2 done); final runs 4 of 4" in told
    assert re.search(r"test split: opened \d{4}-\d\d-\d\d.* by .*process .*, after selection, for the final runs", told)
    told = json.loads(output_of(capsys, "study", "status", "tiny", "--home", str(begun / "home"), "--json"))
    assert (told["is_begun"], told["is_sealed"]) == (False, True)


def test_a_plan_counts_and_knows_the_cost_of_what_was_run(begun, capsys):
    assert fairground("study", "plan", "mlrc2020/all", "--home", str(begun / "home")) == 0
    assert "8,400 trainings to search, 1,680 after selection" in capsys.readouterr().out
    assert fairground("study", "plan", str(begun / "mine.toml"), *options(begun), "--measure", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["search_runs"], plan["final_runs"]) == (8, 8)
    assert plan["seconds"] > 0
    assert plan["bytes"] > 0


def test_a_study_is_evaluated_joined_with_other_metrics(begun, plain, capsys):
    words = ("evaluate", "mine", "--split", "test", "--ensemble", "--home", str(begun / "home"))
    usual = json.loads(output_of(capsys, *words, "--json"))
    table = plain["jobs"][0]["concatenated"]["map@r"]["mean"]
    assert sum(repeat["map@r"] for repeat in usual[0]["concatenated"]) / 2 == pytest.approx(table, abs=1e-12)
    assert "toy/triplet  concatenated  test nmi" in output_of(capsys, *words, "--metrics", "nmi")
    assert fairground("evaluate", "mine", "--ensemble", "--home", str(begun / "home")) == 2
    assert "add --split test" in capsys.readouterr().err


def test_the_heads_of_a_study_are_adapted_to_a_few_images_and_its_page_shows_it(begun, plain, capsys):
    home = ("--home", str(begun / "home"))
    words = ("evaluate", "mine", "--split", "test", "--shots", "2", "--episodes", "2", "--steps", "5", *home)
    found = json.loads(output_of(capsys, *words, "--json"))
    assert [(job["data"], job["method"], len(job["runs"])) for job in found] == [
        ("toy", "triplet", 4),
        ("toy", "contrastive", 4),
    ]
    episodes = [one for some in found[0]["runs"].values() for one in some]
    before, after = (100 * sum(one[side]["map@r"] for one in episodes) / 8 for side in ("before", "after"))
    lines = output_of(capsys, *words).splitlines()
    assert lines[0] == "2 images of every test class shown, 2 times; the others before and after"
    (line,) = [one for one in lines if one.startswith("toy/triplet  map@r  ")]
    assert f"{before:.2f} % -> {after:.2f} %  gain {after - before:.2f} ± " in line
    told = [event.detail for event in Store(begun / "home").events(kind="test opened")]
    assert told.count("heads adapted to 2 images of every class") == 1
    output_of(capsys, "report", "mine", *home, "--out", str(begun / "page.html"))
    page = re.sub(r"<[^>]*>|\s", " ", (begun / "page.html").read_text())
    assert "Score against shots" in page
    assert "intervals over up to 2 repeats per method" in page
    assert re.search(rf"triplet\s+2\s+{before:.2f}\s+{after:.2f}\s", page)


def test_a_study_and_a_run_are_reproduced_on_fresh_seeds(begun, capsys):
    cells = json.loads(output_of(capsys, "reproduce", "mine", "--repeats", "3", *options(begun), "--json"))["jobs"]
    assert cells[0]["separated"]["map@r"]["n"] == 3
    store = Store(begun / "home")
    run = next(name for name in store.names(state="done") if store.get(name).spec["evaluation"]["test"])
    assert "fresh seeds" in output_of(capsys, "reproduce", run, "--repeats", "2", *options(begun), "--quiet")
    assert fairground("reproduce", run, "--gpus-per-run", "0.5", *options(begun), "--quiet") == 2
    assert "gpus_per_run = 0.5 is for the executor processes or ray or slurm, not for inline" in capsys.readouterr().err


def test_a_share_of_an_accelerator_reaches_ray(monkeypatch):
    from fairground.studies.executors import ray

    asked = {}
    monkeypatch.setattr(ray, "RayExecutor", lambda job, **settings: asked.update(settings))
    spawn = executor_of("ray", workers=3, threads=2, gpus_per_run=0.25, address="auto", device="cuda")
    spawn("tests.executors.jobs:double", print)
    settings = {"workers": 3, "threads": 2, "gpus_per_run": 0.25, "address": "auto", "watch": print, "device": "cuda"}
    assert asked == settings


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("study", "tinny"), "no study 'tinny'. Did you mean 'tiny'?"),
        (("study", "plan"), "which study?"),
        (("study", "tiny", "--executor", "proceses"), "no executor 'proceses'. Did you mean 'processes'?"),
        (("study", "tiny", "--gpus-per-run", "1", "--device", "cpu"), "gpus_per_run = 1, but this machine has 0 GPUs"),
        (
            ("study", "tiny", "--executor", "inline", "--gpus-per-run", "1"),
            "is for the executor processes or ray or slurm",
        ),
        (("study", "tiny", "--address", "auto"), "address = auto is for the executor ray, not for processes"),
        (("study", "tiny", "search.trails=3"), "no key 'search.trails'. Did you mean 'trials'?"),
        (("evaluate", "tiny", "--ensemble"), "--ensemble is for studies"),
    ],
)
def test_mistakes_are_a_sentence_and_exit_code_two(tmp_path, capsys, words, complaint):
    assert complaint in output_of(capsys, *words, "--home", str(tmp_path), code=2)


ROOT = Path(__file__).parents[2]
PRETENDED = """
from functools import partial
from fairground.studies import run_study
run_study.run_study = partial(run_study.run_study, run_job="tests.studies.jobs:quadratic")
from fairground.commands.main import main
main()
"""


def test_ctrl_c_says_how_to_go_on_and_leaves_nothing_behind(tmp_path):
    home = tmp_path / "home"
    words = ["study", "tiny", "--workers", "2", "--home", str(home)]
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"FAKE_SECONDS": "5", "PYTHONPATH": path}
    command = [sys.executable, "-c", PRETENDED, *words]
    driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    wait_for((home / "begun.log").exists, driver)
    os.kill(driver.pid, signal.SIGINT)
    _, told = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 130
    assert "stopped; nothing is lost. Continue with: fairground study resume tiny --home" in told
    assert status_of(load_study("tiny"), home=home)[0].trials["asked"] == 2


@pytest.mark.parametrize(("good", "code"), [(1, 3), (0, 1)])
def test_a_study_says_what_failed_and_ends_accordingly(tmp_path, capsys, good, code):
    words = {f"good {n}": ["loss=triplet"] for n in range(good)}
    # A batch of 16 cannot have 5 images of each class: every run of such a method fails, and says so.
    words["bad"] = ["loss=triplet", "sampler.per_class=5"]
    methods = "\n".join(f"{json.dumps(label)} = {json.dumps(said)}" for label, said in words.items())
    text = re.sub(
        r"\[methods\].*\[search\]\ntrials = 2", f"[methods]\n{methods}\n[search]\ntrials = 0", STUDY, flags=re.S
    )
    (tmp_path / "mine.toml").write_text(text)
    assert fairground("study", str(tmp_path / "mine.toml"), *options(tmp_path), "--quiet") == code
    told = capsys.readouterr()
    last = told.err.strip().splitlines()[-1]
    assert "trials and final runs failed" in last
    assert "must divide the batch size" in last
    assert ("page: " in told.out) == (code == 3)
    assert fairground("study", "resume", "mine", *options(tmp_path), "--json") == code
    plain = json.loads(capsys.readouterr().out)
    assert sum(plain["failures"].values()) == plain["runs"] - plain["done"]
    assert (plain["page"] is None) == (code == 1)


def test_failed_trials_count_as_runs_do_and_a_diverged_one_is_a_result():
    done, failed = Trial(number=0, settings={}, state="done", folds={0: 0.5}), {"state": "failed", "settings": {}}
    lost = [Trial(number=n, failure=f"fold {n}: out of memory", **failed) for n in (1, 2)]
    diverged = Trial(number=3, settings={}, state="diverged", failure="fold 0: nan")
    for trials, code, said in (
        ([done, *lost], 3, "2 of 3 trials and final runs failed, 2 of them so: out of memory"),
        (lost, 1, "2 of 2 trials and final runs failed, 2 of them so: out of memory"),
        ([done, diverged], 0, ""),
        ([diverged], 1, "none of 1 trials and final runs finished: all of them diverged or had no score"),
    ):
        found = failures_of([JobResult(job=None, trials=tuple(trials), selected=None)])
        assert (found.exit_code, found.sentence()) == (code, said)


def test_a_study_runs_until_settled_and_says_who_got_how_many_seeds(begun, capsys):
    words = ("until_settled.first=2", "until_settled.wave=1", "until_settled.limit=3")
    path = str(begun / "mine.toml")
    assert fairground("study", "plan", path, "--until-settled", *words, *options(begun)) == 0
    assert "8 trainings to search, at most 12 after selection" in capsys.readouterr().out
    found = json.loads(output_of(capsys, "study", path, "--until-settled", *words, *options(begun), "--json"))
    home = ("--home", str(begun / "home"))
    state = json.loads(output_of(capsys, "study", "status", found["hash"], *home, "--json"))
    wave = state["waves"]["toy"]
    assert wave["state"] in ("settled", "limit")
    n_seeds = {job["method"]: job["separated"]["map@r"]["n"] for job in found["jobs"]}
    assert wave["seeds"] == n_seeds
    said = output_of(capsys, "study", "status", found["hash"], *home)
    assert "2 for every method, then 1 more for those in question, 3 at most" in said
    assert "appears in at most 5 % of such studies" in said
    assert fairground("reproduce", found["hash"], *options(begun)) == 2
    assert "adds seeds in waves (until_settled)" in capsys.readouterr().err


def test_a_plan_ends_with_the_command_as_it_was_typed(tmp_path, capsys):
    mine = tmp_path / "my study.toml"
    mine.write_text('extends = "tiny"\n', encoding="utf-8")
    assert fairground("study", "plan", str(mine), "repeats=2", "--home", str(tmp_path)) == 0
    assert capsys.readouterr().out.endswith(f"command: fairground study '{mine}' repeats=2\n")


def test_a_plan_at_full_size_states_images_disk_and_the_command(tmp_path, capsys):
    said = output_of(capsys, "study", "plan", "roth2020/table4", "--home", str(tmp_path))
    # 115 runs of 873,600 images trained on, and 906,312 evaluated, counted as a third.
    assert "at most 135.2 million images through the network, 76 GB of disk" in said
    assert said.endswith("command: fairground study roth2020/table4 data.root=FOLDER/{data}\n")
