import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image

from fairground.audit import MIN_BITS, THRESHOLD, count_bits, find_near_duplicates, fingerprint_bits
from fairground.audit.audit import audit_in_detail
from fairground.spec import load_run, parse_overrides
from fairground.training.assemble import build
from tests.datasets.pictures import class_folders, picture


def check(*words, split=False):
    spec = load_run(overrides=parse_overrides([*words]))
    return audit_in_detail(build("data", spec.data), spec.split if split else None)[0]


def folder(root, *words, split=False):
    return check("data=folder", f"data.root={json.dumps(str(root))}", *words, split=split)


def test_a_clean_folder(tmp_path):
    found = folder(class_folders(tmp_path, ["a", "b", "c"]))
    assert (found.n_images, found.n_classes) == (9, 3)
    assert found.parts == {"all": (9, 3)}
    assert found.unreadable == found.duplicates.images == found.near_duplicates.images == 0
    sizes = ("shorter_side_smallest", "shorter_side_median", "longer_side_largest", "distinct_sizes")
    assert found.image_sizes == dict(zip(sizes, (16, 16, 20, 1), strict=True))
    assert found.failures == ()


def test_class_sizes_by_hand(tmp_path):
    class_folders(tmp_path, ["a"], per_class=6)
    class_folders(tmp_path, ["b"], per_class=3)
    class_folders(tmp_path, ["c"], per_class=1)
    sizes = folder(tmp_path).class_sizes
    assert (sizes["smallest"], sizes["median"], sizes["largest"], sizes["ratio"]) == (1, 3.0, 6, 6.0)
    assert sizes["of_one_image"] == 1
    # Mean difference of all ordered pairs (2 * (2 + 3 + 5) / 9) over twice the mean (20 / 3).
    assert sizes["gini"] == pytest.approx((20 / 9) / (20 / 3))


def test_unreadable_and_missing_files_are_named_and_the_rest_is_judged(tmp_path):
    class_folders(tmp_path, ["a", "b"])
    (tmp_path / "a" / "0.png").write_bytes(b"nothing like an image")
    whole = (tmp_path / "a" / "1.png").read_bytes()
    (tmp_path / "a" / "1.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    found = folder(tmp_path)
    assert (found.n_images, found.unreadable) == (7, 3)
    named = zip(("0.png", "1.png", "gone.png"), found.unreadable_examples, strict=True)
    assert all(name in sentence for name, sentence in named)
    assert found.duplicates.images == 0


def test_copies_within_and_across_parts(tmp_path):
    class_folders(tmp_path / "train", ["a", "b"])
    class_folders(tmp_path / "test", ["c"], per_class=1)
    # The third image of a again in a, and its first in the test part under another class.
    shutil.copy(tmp_path / "train" / "a" / "2.png", tmp_path / "train" / "a" / "copy.png")
    shutil.copy(tmp_path / "train" / "a" / "0.png", tmp_path / "test" / "c" / "leak.png")
    # A larger, recompressed copy of the last image of b.
    image = Image.open(tmp_path / "train" / "b" / "2.png").resize((40, 32))
    image.save(tmp_path / "test" / "c" / "near.jpg", quality=80)
    (tmp_path / "test" / "c" / "0.png").unlink()
    picture(tmp_path / "test" / "c" / "own.png", 999)
    found = folder(tmp_path)
    assert found.parts == {"train": (7, 2), "test": (3, 1)}
    copies = found.duplicates
    assert (copies.images, copies.across_parts, copies.across_classes) == (4, 2, 2)
    assert copies.examples == (("train/a/0.png", "test/c/leak.png"), ("train/a/2.png", "train/a/copy.png"))
    near = found.near_duplicates
    assert (near.images, near.across_parts, near.across_classes) == (2, 2, 2)
    assert near.examples == (("train/b/2.png", "test/c/near.jpg"),)
    assert found.failures == ()


def test_shared_classes_fail_loudly(tmp_path):
    class_folders(tmp_path / "train", ["a", "b"])
    class_folders(tmp_path / "val", ["b"])
    class_folders(tmp_path / "test", ["a", "c"])
    found = folder(tmp_path)
    assert found.shared_classes == {"train, validation": ("b",), "train, test": ("a",)}
    assert "TRAIN AND TEST SHARE 1 CLASSES (the first is 'a')" in found.failures[0]


def test_boxes_of_one_photograph_are_not_copies(tmp_path):
    picture(tmp_path / "photo.png", 1, size=(80, 40))
    rows = ["photo.png,a,0,0,40,40", "photo.png,b,40,0,80,40", "photo.png,b,40,0,80,40", "photo.png,c,0,0,400,40"]
    (tmp_path / "t.csv").write_text("path,label,x1,y1,x2,y2\n" + "\n".join(rows) + "\n")
    found = check("data=table", f"data.path={json.dumps(str(tmp_path / 't.csv'))}")
    assert found.duplicates.images == 2
    assert found.duplicates.examples == (("photo.png", "photo.png"),)
    assert found.unreadable == 1
    assert "does not lie within image" in found.unreadable_examples[0]
    assert found.image_sizes["distinct_sizes"] == 1


def test_a_split_by_name_is_judged_instead_of_the_datas_own(tmp_path):
    class_folders(tmp_path, [f"class {number}" for number in range(8)])
    parts = folder(tmp_path, "split=mlrc_folds", split=True).parts
    assert parts == {"train": (9, 3), "validation": (3, 1), "test": (12, 4)}
    closed = folder(tmp_path, "split=closed_set", split=True)
    assert closed.is_closed_set
    assert len(closed.shared_classes["train, test"]) == 8
    assert closed.failures


def test_images_in_memory_and_features(tmp_path):
    found = check("data=synthetic", "data.n_classes=4", "data.per_class=3")
    assert found.parts == {"train": (6, 2), "test": (6, 2)}
    assert found.near_duplicates is not None
    features = np.random.default_rng(0).normal(size=(6, 4))
    features[5] = features[0]
    np.savez(tmp_path / "f.npz", features=features, labels=[0, 0, 1, 1, 2, 2])
    found = check("data=features", f"data.path={json.dumps(str(tmp_path / 'f.npz'))}")
    assert (found.duplicates.images, found.duplicates.across_classes) == (2, 2)
    assert found.near_duplicates is None
    assert found.image_sizes == {}


def pattern(seed, size=(120, 90)):
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 9, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


def distance(a, b):
    return int(count_bits((fingerprint_bits(a) ^ fingerprint_bits(b))[None])[0])


def test_bits_are_where_the_picture_gets_brighter_to_the_right():
    shades = np.tile(np.arange(17, dtype=np.uint8) * 10, (16, 1))
    rising, falling = Image.fromarray(shades), Image.fromarray(shades[:, ::-1].copy())
    assert count_bits(fingerprint_bits(rising)[None]).tolist() == [256]
    assert count_bits(fingerprint_bits(falling)[None]).tolist() == [0]
    shades[0, 1:] = 0
    assert count_bits(fingerprint_bits(Image.fromarray(shades))[None]).tolist() == [240]


def test_recompressed_resized_and_darkened_copies_are_near_and_other_pictures_far():
    for seed in range(10):
        image = pattern(seed)
        file = io.BytesIO()
        image.save(file, "JPEG", quality=40)
        copies = [Image.open(file), image.resize((60, 45)), Image.eval(image, lambda value: int(value * 0.85))]
        assert max(distance(image, copy) for copy in copies) <= THRESHOLD
        assert distance(image, pattern(seed + 100)) > 2 * THRESHOLD


def loop(bits, identity, parts, labels, threshold):
    """The search by its definition, one pair after another."""
    ones = [[int(bit) for word in row for bit in f"{int(word):064b}"] for row in bits]
    found = np.full((len(bits), 4), -1)
    found[:, 0] = 0
    for i, mine in enumerate(ones):
        best = [threshold + 1] * 3
        for j, other in enumerate(ones):
            differ = sum(a != b for a, b in zip(mine, other, strict=True))
            shared = sum(a and b for a, b in zip(mine, other, strict=True))
            is_judged = min(sum(mine), sum(other)) >= MIN_BITS and identity[i] != identity[j]
            if not is_judged or differ > threshold or 4 * differ > shared:
                continue
            found[i, 0] += 1
            for place, holds in enumerate((True, parts[i] != parts[j], labels[i] != labels[j])):
                if holds and differ < best[place]:
                    best[place], found[i, place + 1] = differ, j
    return found


def test_the_search_agrees_with_a_slow_loop():
    rng = np.random.default_rng(3)
    centres = rng.integers(0, 2**63, (6, 4)).astype(np.uint64)
    centres[5] = [1, 3, 0, 7]
    bits = centres[rng.integers(0, 6, 60)]
    for row in bits:
        for place in rng.integers(0, 256, rng.integers(0, 14)):
            row[place // 64] ^= np.uint64(1) << np.uint64(place % 64)
    bits[0], bits[1] = 0, 0
    identity, parts, labels = np.arange(60), rng.integers(0, 3, 60), rng.integers(0, 8, 60)
    identity[7] = identity[8] = 7
    found = find_near_duplicates(bits, identity, parts, labels)
    assert found.tolist() == loop(bits, identity, parts, labels, THRESHOLD).tolist()
    assert (found[:, 0] > 0).any()


def test_plain_pictures_are_not_judged():
    flat = np.stack([fingerprint_bits(Image.new("RGB", (40, 40), colour)) for colour in ("white", "black")])
    found = find_near_duplicates(flat, np.arange(2), np.zeros(2), np.zeros(2))
    assert found[:, 0].tolist() == [0, 0]
