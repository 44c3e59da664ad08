"""What every command prints with `--json`, on a home of a few tiny runs and one of a tiny study.

Times, places, versions, sizes of files and checksums of weights are left out. On the machine that wrote them sentences
and numbers agree; on others numbers agree as far as one swapped neighbour lets them.
`python -m tests.golden.test_command_json compare list` writes these anew, without names all.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.golden.command import printed
from tests.golden.machine import SCORE, digest, near, read, write
from tests.training.tiny import tiny_words

STORED = Path(__file__).with_name("command_json")
TINY = tiny_words("training.epochs=2", "training.batches_per_epoch=3", "evaluation.metrics=['recall@1', 'map@r']")
STUDY = f"""
question = "Which of two is better?"
overrides = {json.dumps([word for word in TINY if not word.startswith("data")])}
repeats = 2

[data]
shapes = {json.dumps([word for word in TINY if word.startswith("data")])}

[methods]
contrastive = ["loss=contrastive"]
triplet = ["loss=triplet", "miner=distance_weighted"]

[search]
trials = 3
sampler = "tpe"
startup = 2
wave = 1

[folds]
split = "class_folds"
n = 2
"""
HOME = ("--home", "home")
STUDIED = ("--home", "studied")
INLINE = ("--executor", "inline")
#: the runs of the home, by name, as `train` gives them
FIRST, SECOND = "fd52eb9c1fa0", "087786a6455f"
MINED = ("loss=triplet", "miner=distance_weighted")
#: in the order in which they are given: some write what others read
COMMANDS: dict[str, tuple[str, ...]] = {
    "train": ("train", *TINY, *HOME, "--threads", "1"),
    "train_mined": ("train", *TINY, *MINED, *HOME, "--threads", "1"),
    "train_1": ("train", *TINY, "seed=1", *HOME, "--threads", "1"),
    "train_mined_1": ("train", *TINY, *MINED, "seed=1", *HOME, "--threads", "1"),
    "train_dry": ("train", *TINY, "loss=margin@mlrc-cub200", "--dry-run"),
    "train_like_dry": ("train", "--like", FIRST, "loss=arc_face", "--dry-run", *HOME),
    "train_again": ("train", *TINY, *HOME),
    "resume": ("resume", FIRST, *HOME),
    "reproduce": ("reproduce", FIRST, "--repeats", "2", *INLINE, *HOME),
    **{
        f"list_{room}": ("list", room)
        for room in ("losses", "miners", "regularisers", "samplers", "trunks", "heads", "datasets", "transforms")
    },
    **{f"list_{room}": ("list", room) for room in ("splits", "metrics", "analysis", "protocols", "rules", "flags")},
    "list": ("list",),
    "list_runs": ("list", "runs", *HOME),
    "show": ("show", SECOND, *HOME),
    "evaluate": ("evaluate", FIRST, "-m", "recall@1,map@r,nmi", *HOME),
    "evaluate_test": ("evaluate", SECOND, "--split", "test", *HOME),
    "score": ("score", "mine.npz", "-m", "recall@1,map@r,r_precision,nmi", "--interval", "50"),
    "score_classes": ("score", "mine.npz", "-m", "recall@2", "--average", "classes", "--lone", "zero"),
    "compare": ("compare", *HOME),
    "compare_both": ("compare", *HOME, "--metric", "recall@1", "--generality", "both"),
    "compare_anyway": ("compare", *HOME, FIRST, SECOND, "--anyway"),
    "report": ("report", *HOME, "--formats", "md,tex,csv"),
    "study_list": ("study", "list", *STUDIED),
    "study_plan": ("study", "plan", "mine.toml", *STUDIED),
    "study_plan_tiny": ("study", "plan", "tiny", *STUDIED),
    "study_plan_paper": ("study", "plan", "mlrc2020/table4", *STUDIED),
    "study": ("study", "mine.toml", *INLINE, *STUDIED),
    "study_status": ("study", "status", "mine.toml", *STUDIED),
    "study_compare": ("compare", *STUDIED),
    "study_evaluate": ("evaluate", "mine", "--split", "test", "--ensemble", *STUDIED),
    "study_report": ("report", "mine", *STUDIED),
    "protocol": ("protocol",),
    "protocol_paper": ("protocol", "mlrc2020-cub200", "loss=contrastive@mlrc"),
    "protocol_photographs": ("protocol", "photographs"),
    "published": ("published",),
    "published_table": ("published", "roth2020/table2", "-d", "cub200", "-m", "recall@1"),
    "published_coverage": ("published", "--coverage"),
    "published_compare": ("published", "--method", "margin", "--metric", "map@r", "--compare", *HOME),
    "data_check_features": ("data", "check", "features.npz", "--labels"),
    "data_check_pictures": ("data", "check", "pictures"),
    "data_caches": ("data", "caches"),
    "weights": ("weights",),
    "weights_check": ("weights", "check", "unknown.pth"),
    "export": ("export", FIRST, "-o", "model", *HOME),
    "embed": ("embed", "model", "pictures", "-o", "embeddings.npz", "--quiet"),
    "index": ("index", "model", "pictures", "-o", "index", "--quiet"),
    "index_remove": ("index", "remove", "index", "--path", "*class 0*"),
    "index_add": ("index", "add", "index", "more", "--quiet"),
    "query": ("query", "index", "pictures/class 1/0.png", "-k", "3", "--quiet"),
}
#: what differs from one time, place, machine or layout of files to the next
LEFT_OUT = frozenset(
    {
        *("seconds", "images_per_second", "cpu_seconds", "wall_seconds", "peak_memory_bytes", "started", "at", "who"),
        *("hardware", "packages", "fairground", "weights_sha256", "bytes", "files"),
        *("from_database", "from_folders", "old", "last_used"),
    }
)
#: a longer answer that nothing is computed for is kept as its digest
LONGEST = 8000


def prepare(folder: Path) -> None:
    """Write the files that commands read."""
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), 6)
    features = draw.normal(size=(8, 5))[labels] + 0.6 * draw.normal(size=(48, 5))
    features[7] = features[3]
    names = np.array([f"class {number}" for number in range(8)])
    np.savez(folder / "features.npz", features=features, labels=labels, class_names=names)
    np.savez(folder / "mine.npz", embeddings=features, labels=labels)
    draw.normal(size=36)  # without these the pictures would be others
    (folder / "mine.toml").write_text(STUDY, encoding="utf-8")
    (folder / "unknown.pth").write_bytes(b"no weights")
    for kind in range(6):
        place = folder / "pictures" / f"class {kind}"
        place.mkdir(parents=True)
        pattern = draw.integers(0, 256, size=(16, 16))
        for number in range(4):
            pixels = np.clip(pattern + draw.integers(-40, 41, size=(16, 16)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(place / f"{number}.png")
    shutil.copytree(folder / "pictures" / "class 0", folder / "more" / "class 0")


def plain(data: Any, folder: Path) -> Any:
    """Return an answer without what differs from one time, place, machine or layout of files to the next."""
    if isinstance(data, dict):
        return {
            key: "*" if key in LEFT_OUT and value is not None else plain(value, folder) for key, value in data.items()
        }
    if isinstance(data, list):
        return [plain(value, folder) for value in data]
    return data.replace(str(folder), "FOLDER") if isinstance(data, str) else data


def answer(name: str, folder: Path) -> dict[str, Any]:
    """Return the exit code and the answer of a command."""
    code, said = printed(*COMMANDS[name])
    found = plain(said, folder)
    if name == "weights":
        found = [{key: value for key, value in one.items() if key != "path"} for one in found["weights"]]
    is_given = name.startswith(("published", "list"))
    if is_given and len(json.dumps(found)) > LONGEST:
        found = {"digest": digest(found), "n": len(found)}
    return {"code": code, "json": found}


def answers(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the answers of all commands."""
    prepare(folder)
    here = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRGROUND_CACHE", str(folder / "cache"))
        os.chdir(folder)
        try:
            return {name: answer(name, folder) for name in COMMANDS}
        finally:
            os.chdir(here)


def without_numbers(data: Any) -> Any:
    """Return an answer without what one swapped neighbour moves on another processor.

    Decimals in sentences, and what is computed from the difference of two seeds: its p-value, more seeds.
    """
    if isinstance(data, dict):
        return {key: without_numbers(value) for key, value in data.items() if key not in {"p", "p_alone", "more_seeds"}}
    if isinstance(data, list):
        return [without_numbers(value) for value in data]
    return re.sub(r"-?\d+\.\d+|\d+(?= more seeds)", "#", data) if isinstance(data, str) else data


def test_every_command_answers_as_it_always_did(tmp_path: Path) -> None:
    found = answers(tmp_path.resolve())
    assert {path.stem for path in STORED.iterdir()} == set(found)
    differing = []
    for name, answered in found.items():
        stored, is_same_machine = read(STORED / f"{name}.json")
        wanted = near(stored) if is_same_machine else near(without_numbers(stored), within=SCORE)
        given = answered if is_same_machine else without_numbers(answered)
        differing += [(name, given, wanted)] if given != wanted else []
    names = [name for name, _, _ in differing]
    for name, given, wanted in differing:
        assert given == wanted, f"{name} differs, of {names}"


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, given in answers(Path(scratch).resolve()).items():
            if len(sys.argv) > 1 and name not in sys.argv[1:]:
                continue
            write(STORED / f"{name}.json", given)
