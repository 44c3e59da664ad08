import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "examples" / "toy_compression.py"


@pytest.fixture(scope="module")
def toy():
    spec = importlib.util.spec_from_file_location("toy_compression", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_compression"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["toy_compression"]


def test_runs_from_end_to_end(toy, tmp_path, capsys):
    toy.main(["--output", str(tmp_path / "picture.png"), "--seeds", "1", "--iterations", "3"])
    printed = capsys.readouterr().out
    assert printed.count("\n| Figure 6") == printed.count("\n| Figure 11") == len(toy.VARIANTS)
    assert "no longer attracts positives at all" in printed
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_dropping_the_attraction_is_what_flattens_the_spectrum(toy):
    base, script, control, text, _ = toy.VARIANTS
    shares = [
        toy.train(toy.TOYS[0], variant, seed=1, iterations=100).shares[0] for variant in (base, script, control, text)
    ]
    assert shares[0] > 0.8
    assert shares[1] < 0.75
    assert shares[2] < 0.75
    assert shares[3] > 0.8
