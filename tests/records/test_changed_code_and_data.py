"""What a spec points at: source, defaults and versions of outside classes, files; noticed when it changes."""

import importlib
import sys
import types
from pathlib import Path

import pytest
import torch

from fairground import files
from fairground.errors import DamageWarning
from fairground.files import file_digests
from fairground.records.changed_code_and_data import UNKNOWN, ChangedError, changes_in, content_of, require_unchanged
from fairground.spec import load_run
from fairground.training.python_objects import name_of_object
from tests.patience import python
from tests.training.tiny import tiny

LAB = {
    "__init__": "",
    "losses": (
        "from torch import nn\nfrom . import helpers\nfrom .config import MARGIN as M\nfrom .more import *\n"
        "SCALE = 2 * M\ndef mark(kind):\n    return kind\n@mark\nclass Mine(Base):\n"
        "    def __init__(self, gap: float = 0.1):\n        super().__init__()\n"
        "    def forward(self, e, y):\n        from lab_parts.late import late\n"
        "        return helpers.f(e) * SCALE + late(e)\n"
        "class Other(nn.Module):\n    pass\n"
    ),
    "helpers": "def f(e):\n    return g(e)\ndef g(e):\n    return e.sum()\n",
    "config": "MARGIN = 0.2\nUNUSED = 1\n",
    "more": "from torch import nn\nclass Base(nn.Module):\n    pass\ndef unused():\n    return 1\n",
    "late": "def late(e):\n    return e.mean()\n",
}


def content(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, **edits: tuple[str, str]) -> dict[str, str]:
    """Write the package, some of its modules edited, and return the content of a spec as a new Python would see it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(folder))
    for module, text in LAB.items():
        (folder / "lab_parts").mkdir(exist_ok=True)
        edited = text.replace(*edits[module]) if module in edits else text
        assert module not in edits or edited != text
        (folder / "lab_parts" / f"{module}.py").write_text(edited)
    for module in [one for one in sys.modules if one.startswith("lab_parts")]:
        del sys.modules[module]
    importlib.invalidate_caches()
    return content_of(tiny(f"loss=lab_parts.losses:{name}"), of_data=lambda: {})


@pytest.mark.parametrize(
    ("module", "edit", "changes"),
    [
        ("losses", ("* SCALE", "/ SCALE"), True),
        ("losses", ("return kind", "return kind  # a decorator"), True),
        ("losses", ("SCALE = 2", "SCALE = 3"), True),
        ("helpers", ("e.sum()", "-e.sum()"), True),
        ("config", ("MARGIN = 0.2", "MARGIN = 0.3"), True),
        ("more", ("class Base(nn.Module):\n    pass", "class Base(nn.Module):\n    p = 2"), True),
        ("late", ("mean", "sum"), True),
        ("losses", ("class Other(nn.Module):\n    pass", "class Other(nn.Module):\n    p = 2"), False),
        ("config", ("UNUSED = 1", "UNUSED = 2"), False),
        ("more", ("return 1", "return 2"), False),
    ],
)
def test_an_edit_counts_where_the_class_depends_on_it(monkeypatch, tmp_path, module, edit, changes):
    before = content(monkeypatch, tmp_path, "Mine")
    assert before["default gap of lab_parts.losses:Mine"] == "0.1"
    after = content(monkeypatch, tmp_path, "Mine", **{module: edit})
    assert (changes_in(before, after) != "") == changes
    assert [key for key in after if after[key] != before[key]] == ["source of lab_parts.losses:Mine"] * changes


def test_the_classes_of_a_python_object_count(monkeypatch, tmp_path):
    seen = []
    for edit in ({}, {}, {"helpers": ("e.sum()", "-e.sum()")}):
        content(monkeypatch, tmp_path, "Mine", **edit)
        made = torch.nn.Sequential(importlib.import_module("lab_parts.losses").Mine())
        name = name_of_object("loss", made)
        seen.append(content_of(tiny(f"loss={name}"), of_data=lambda: {})[f"source of {name}"])
    assert seen[0] == seen[1] != seen[2]


def test_of_an_installed_package_the_version_and_all_defaults_count(monkeypatch):
    spec = tiny("loss=pytorch_metric_learning.losses:TripletMarginLoss", "loss.swap=true")
    before = content_of(spec, of_data=lambda: {})
    assert before["version of pytorch-metric-learning"].startswith("2.")
    assert before["default margin of pytorch_metric_learning.losses:TripletMarginLoss"] == "0.05"
    now = {**before, "version of pytorch-metric-learning": "3.0.0"}
    with pytest.raises(ChangedError, match=r"run 3f2a was .*: version of pytorch-metric-learning was 2.*, is 3\.0"):
        require_unchanged("3f2a", before, now)


def test_a_module_edited_after_its_import_is_what_was_imported(monkeypatch, tmp_path):
    before = content(monkeypatch, tmp_path, "Other")
    file = tmp_path / "lab_parts" / "losses.py"
    file.write_text(file.read_text().replace("class Other(nn.Module):\n    pass", "class Other(nn.Module):\n    p = 1"))
    with pytest.warns(DamageWarning, match="changed after Python imported it"):
        assert content_of(tiny("loss=lab_parts.losses:Other"), of_data=lambda: {}) == before


def test_in_a_notebook_the_last_cell_counts_and_at_a_prompt_nothing_is_known(monkeypatch):
    cells = ["import torch", "GAP = 1", "class Cell(torch.nn.Module):\n    gap = GAP"]
    main = types.ModuleType("__main__")
    shell = types.SimpleNamespace(history_manager=types.SimpleNamespace(input_hist_parsed=cells))
    monkeypatch.setitem(sys.modules, "__main__", main)
    seen = []
    for cell in ("", "print(GAP)", "GAP = 2"):
        cells += [cell, cells[2]]
        exec("\n".join(cells), vars(main))
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
        seen.append(content_of(tiny("loss=__main__:Cell"), of_data=lambda: {})["source of __main__:Cell"])
    assert seen[0] == seen[1] != seen[2]
    monkeypatch.delitem(sys.modules, "IPython")
    exec(cells[2], vars(main))
    typed = content_of(tiny("loss=__main__:Cell"), of_data=lambda: {})
    assert typed["source of __main__:Cell"] == UNKNOWN
    assert changes_in(typed, typed)


def test_files_that_settings_name_count_whole(tmp_path):
    weights = tmp_path / "own.safetensors"
    weights.write_bytes(b"a" * 9999)
    spec = load_run(overrides={"trunk": "resnet50", "trunk.weights": str(weights)})
    before = content_of(spec, of_data=lambda: {})
    weights.write_bytes(b"a" * 5000 + b"b" + b"a" * 4998)
    assert changes_in(before, content_of(spec, of_data=lambda: {})).startswith("file of trunk.weights was ")


SCRIPT = """
import sys
import torch
import fairground as fg
class MainLoss(torch.nn.Module):
    def forward(self, e, y):
        return {} * e.square().mean()
run = fg.train(loss="__main__:MainLoss", home=sys.argv[1], quiet=True, again="again" in sys.argv, **{})
print(run.is_new, run.history[-1].loss)
"""


def test_two_scripts_with_one_name_of_a_class_do_not_share_a_record(tmp_path):
    words = {"data": "synthetic", "data.n_classes": 16, "data.per_class": 12, "data.size": 16, "trunk.widths": [8, 16]}
    words |= {"training.batch_size": 16, "training.epochs": 1, "training.batches_per_epoch": 1}
    told = []
    for factor, *more in (("1", ""), ("2", ""), ("2", "again"), ("2", ""), ("1", "")):
        (tmp_path / "script.py").write_text(SCRIPT.format(factor, words) + f"# run {len(told)}\n")
        done = python(str(tmp_path / "script.py"), str(tmp_path / "home"), *more)
        told.append(done.stdout.split()[0] if done.returncode == 0 else done.stderr.splitlines()[-1])
    assert [told[0], told[2], told[3]] == ["True", "True", "False"]
    for refusal in (told[1], told[4]):
        assert "ChangedError: run" in refusal
        assert "source of __main__:MainLoss was" in refusal


def test_a_digest_is_remembered_until_the_file_changes(own_cache, monkeypatch, tmp_path):
    monkeypatch.setattr(files.time, "time_ns", lambda: 2**62)
    path, read = tmp_path / "a.bmp", []
    digest = files._digest
    monkeypatch.setattr(files, "_digest", lambda one: read.append(one) or digest(one))
    path.write_bytes(bytes(20_000))
    first = file_digests([path, path])
    assert file_digests([path]) == first
    assert read == [path]
    stat = path.stat()
    path.write_bytes(bytes(10_000) + b"x" + bytes(9_999))  # as long, with equal ends and the time of before
    files.os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file_digests([path]) != first
    for damage in (b"not a database", b""):
        (tmp_path / "cache" / "digests.sqlite").write_bytes(damage)
        assert file_digests([path]) == file_digests([path])
