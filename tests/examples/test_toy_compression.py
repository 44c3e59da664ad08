import importlib.util
import sys
from pathlib import Path

import pytest
import torch

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


def test_without_switching_nothing_is_pushed_but_negatives(toy):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(24) % 4
    embeddings = torch.randn(24, 2, generator=generator)
    always = toy.Variant(name="", p_switch=1.0, drop_attraction=False)
    for variant, same in ((toy.VARIANTS[0], False), (always, True)):
        pairs = toy._switched_pairs(embeddings, labels, variant, generator)
        assert bool(((labels[pairs.negative_anchor] == labels[pairs.negative]) == same).all())
    dropped = toy._switched_pairs(embeddings, labels, toy.VARIANTS[1], generator)
    assert dropped.positive.numel() == 0
