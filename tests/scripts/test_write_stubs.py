"""The stubs say what is there; one that lags behind is for `make check` to find and for `make format` to write anew."""

import shutil
import subprocess
import sys
from pathlib import Path

import fairground
from fairground.spec import catalogue

ROOT = Path(__file__).parents[2]
PACKAGE = Path(fairground.__file__).parent
STUBS = sorted(PACKAGE.rglob("*.pyi"))
TYPED = """
import fairground as fg
from fairground.evaluation import evaluate
from fairground.losses import TripletLoss
from fairground.samplers import PerClassSampler
reveal_type(TripletLoss(margin=0.1))
reveal_type(fg.losses.TripletLoss(margin=0.1))
reveal_type(fg.train("laptop", loss={"name": "margin", "beta": 1.2}, optimiser={"lr": 3e-4}, seed=3).scores)
reveal_type(fg.report("tiny").page)
reveal_type(fg.load_model("my_model").embed(["a.jpg"]))
TripletLoss(margn=0.1)
fg.losses.TripletLos
"""


def test_every_lazy_package_has_a_stub() -> None:
    rooms = [path for path in PACKAGE.glob("*/__init__.py") if "__getattr__" in path.read_text()]
    assert {path.with_suffix(".pyi") for path in (PACKAGE / "__init__.py", *rooms)} == set(STUBS)
    assert {path.parent.name for path in rooms} > catalogue.ROOMS.keys()


def test_one_new_file_is_named_by_check_and_written_by_format(tmp_path: Path) -> None:
    copy = tmp_path / "src" / "fairground"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    shutil.copy(copy / "heads" / "linear.py", copy / "heads" / "straight.py")
    text = (copy / "heads" / "straight.py").read_text().replace("LinearHead", "StraightHead")
    (copy / "heads" / "straight.py").write_text(text)

    def script(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "scripts" / "write_stubs.py"), *words]
        environment = {"PYTHONPATH": str(tmp_path / "src"), "PATH": ""}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    before = script("--check")
    assert before.returncode == 1
    assert "fairground/heads/__init__.pyi is out of date: run `make format`" in before.stderr
    assert script().returncode == 0
    stub = (copy / "heads" / "__init__.pyi").read_text()
    assert "from fairground.heads.straight import StraightHead\n" in stub
    assert script("--check").returncode == 0


def test_a_type_checker_knows_components_and_verbs(tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED)
    # With the settings and the cache of `make check`, which has read everything else already.
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path / "typed.py")]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False).stdout
    for kind in (
        'line:6: note: Revealed type is "fairground.losses.triplet.TripletLoss"',
        'line:7: note: Revealed type is "fairground.losses.triplet.TripletLoss"',
        'line:8: note: Revealed type is "dict[str, float]"',
        'line:9: note: Revealed type is "pathlib.Path"',
        'line:10: note: Revealed type is "numpy.ndarray',
        'line:11: error: Unexpected keyword argument "margn" for "TripletLoss"',
        'line:12: error: Module has no attribute "TripletLos"',
        "Found 2 errors in 1 file",
    ):
        assert kind.replace("line:", "typed.py:") in found, found
