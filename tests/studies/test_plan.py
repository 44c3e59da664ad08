"""What a study takes: images and bytes by hand, hours at a stated speed, for every full-size preset."""

from pathlib import Path

import pytest

from fairground.spec import load_run, load_study, parse_overrides, study_names
from fairground.studies.plan import plan_of, work_of

FULL_SIZE = [
    name for name in study_names() if name.startswith(("mlrc2020/", "roth2020/")) and load_study(name).kind != "toy"
]


def test_a_run_of_roths_by_hand() -> None:
    spec = load_run(protocol="roth2020-cub200", overrides={"loss": "margin@roth-cub200"}, unsaid="x")
    work = work_of(spec)
    # 150 epochs of 52 batches of 112; the 5,924 test images 151 times and once more, the training images for analyses.
    assert work.images == pytest.approx(150 * 52 * 112 + (152 * 5924 + 5864) / 3)
    often = load_run(protocol="roth2020-cub200", overrides={"training.analyse_every": 4}, unsaid="x")
    # Before training, after 37 epochs and after the last.
    assert work_of(often).images == pytest.approx(work.images + 39 * 5864 / 3)
    # ResNet-50's 23,508,032 weights seven times, test embeddings of 128 numbers.
    assert work.bytes == 4 * (7 * 23_508_032 + 5924 * 128)


def test_a_trial_of_mlrc_keeps_the_test_split_sealed() -> None:
    words = ["evaluation.test=false", "training.epochs=10"]
    work = work_of(load_run(protocol="mlrc2020-cub200", overrides=parse_overrides(words), unsaid="x"))
    # Ten epochs of 100 batches of 32; a quarter of 5,864 images six times.
    assert work.images == pytest.approx(10 * 100 * 32 + 6 * 1466 / 3)
    assert work.bytes == 4 * 7 * 10_270_240


@pytest.mark.parametrize("name", FULL_SIZE)
def test_every_full_size_preset_says_images_and_disk(name: str, tmp_path: Path) -> None:
    plan = plan_of(load_study(name), home=tmp_path)
    assert plan.images() > 0
    assert plan.bytes() > 0
