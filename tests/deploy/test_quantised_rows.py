"""Rows in fewer bits: their errors, their search, and the frontier that weighs them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.deploy import add_embeddings, create_index, frontier_of, open_index, quantised_rows, remove_from_index
from fairground.errors import InputError


def unit_rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_int8_by_hand() -> None:
    found = quantised_rows.quantise(np.array([[1.0, -0.5, 0.25], [0.0, 0.0, 0.0]]))
    # 127 times the shares of the largest number: 63.5 and 31.75 are rounded, halves to even.
    assert found.codes.tolist() == [[127, -64, 32], [0, 0, 0]]
    assert np.linalg.norm(found[:1]) == pytest.approx(np.sqrt(1.3125), abs=1e-6)
    assert found[1:].tolist() == [[0.0, 0.0, 0.0]]


def test_int8_rows_have_their_length_and_nearly_their_products() -> None:
    rows = unit_rows(50, 96)
    found = quantised_rows.quantise(rows)
    assert np.linalg.norm(found[:], axis=1) == pytest.approx(np.ones(50), abs=1e-6)
    assert np.abs(found[:] @ rows.T - rows @ rows.T).max() < 0.01
    assert np.array_equal(found[np.array([3, 1])], found[:][[3, 1]])


def test_signs_are_counted_as_a_loop_counts_them() -> None:
    rows, queries = unit_rows(40, 70), unit_rows(3, 70, seed=1)
    removed = np.array([2, 5])
    near = quantised_rows.nearest_by_signs(queries, quantised_rows.signs_of(rows), 6, removed)
    for query, found in zip(queries, near, strict=True):
        distances = [sum((a > 0) != (b > 0) for a, b in zip(query, row, strict=True)) for row in rows]
        order = sorted((distance, number) for number, distance in enumerate(distances) if number not in removed)
        assert found.tolist() == sorted(number for _, number in order[:6])


@pytest.mark.parametrize("precision", ["int8", "binary"])
def test_an_index_of_fewer_bits_finds_what_a_float_one_finds(tmp_path, precision: str) -> None:
    rows = unit_rows(400, 64)
    names = [f"row {number}" for number in range(len(rows))]
    places = {kind: tmp_path / kind for kind in ("float32", precision)}
    for kind, place in places.items():
        create_index(place, width=64, precision=kind)
        add_embeddings(place, rows[:250], names=names[:250])
        add_embeddings(place, rows[250:], names=names[250:])
        remove_from_index(place, ids=[7])
    exact, small = (open_index(place).search(rows[:40] + 0.01, 5) for place in places.values())
    is_first = exact.numbers[:, 0] == small.numbers[:, 0]
    assert is_first.mean() > 0.9
    assert not (small.numbers == 7).any()
    assert np.abs(exact.similarities[is_first, 0] - small.similarities[is_first, 0]).max() < 0.02
    held = {file.name: file.stat().st_size for file in places[precision].iterdir()}
    assert held["rows.i8"] == 400 * 64
    assert "rows.f32" not in held
    (places[precision] / "scales.f32").write_bytes(bytes(1600))
    with pytest.raises(InputError, match=r"scales.f32 does not match its checksum"):
        open_index(places[precision])


def clustered(n_classes: int = 8, each: int = 12, d: int = 32) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = np.arange(n_classes * each) % n_classes
    return generator.normal(size=(n_classes, d))[labels] + generator.normal(size=(len(labels), d)) + 1, labels


def test_the_frontier_measures_every_way_once() -> None:
    rows, labels = clustered()
    found = frontier_of(rows, labels)
    ways = [(one.reduction, one.dimension, one.precision, one.rerank) for one in found.points]
    assert len(ways) == len(set(ways))
    plain = [one for one in found.points if (one.precision, one.rerank) == ("float32", "none")]
    assert [one.dimension for one in plain] == [32, 32, 16, 16, 16, 8, 8, 8]
    assert found.smallest.score >= found.best.interval.low
    assert (found.n_rows, found.n_classes) == (48, 4)
    scores = {(one.dimension, one.reduction, one.precision): one.score for one in found.points if one.rerank == "none"}
    best = (found.best.dimension, found.best.reduction)
    assert scores[*best, "int8"] == pytest.approx(found.best.score, abs=0.02)
    # All are scored after the signs: the shortlist is longer than the list.
    assert scores[*best, "binary, scored by int8"] == pytest.approx(found.best.score, abs=0.02)
    assert scores[*best, "binary"] < found.best.score
    with pytest.raises(InputError, match="it needs four; got 2"):
        frontier_of(rows[labels < 2], labels[labels < 2])


def map_at_r(products: np.ndarray, labels: np.ndarray) -> float:
    found = []
    for i, row in enumerate(products):
        order = [j for j in np.argsort(-row, kind="stable") if j != i]
        hits = (labels[order] == labels[i])[: (labels == labels[i]).sum() - 1]
        found.append(sum(hits[: k + 1].mean() for k in np.flatnonzero(hits)) / len(hits))
    return float(np.mean(found))


def test_what_ranges_of_coordinates_lose_by_offsets_and_by_scales() -> None:
    rows, labels = clustered()
    rows[:, ::2] += 9
    found, unit = frontier_of(rows, labels), rows / np.linalg.norm(rows, axis=1, keepdims=True)
    fitted, measured, own = unit[labels < 4], unit[labels >= 4], labels[labels >= 4]
    low, step = fitted.min(0), (fitted.max(0) - fitted.min(0)) / 255
    codes = np.clip(np.floor((measured - low) / step), 0, 255) - 128
    whole = [one for one in found.points if one[:2] == ("prefix", rows.shape[1]) and one.rerank == "none"]
    score_of = {one.precision: one.score for one in whole}
    for values, score in (
        (measured, score_of["float32"]),
        (codes, score_of["int8, ranges"]),
        (measured - low - 128 * step, found.without_offsets),
        (measured / step, found.without_scales),
    ):
        assert score == pytest.approx(map_at_r(values @ values.T, own), abs=0.01)
    assert found.without_offsets != pytest.approx(score_of["float32"], abs=0.01)


def test_the_command_writes_a_page(model, tmp_path) -> None:
    from fairground.deploy.model_folder import write_model

    write_model(model, tmp_path / "model")
    out = tmp_path / "frontier.html"
    said = CliRunner().invoke(app, ["frontier", str(tmp_path / "model"), "icons", "-o", str(out), "--quiet", "--json"])
    assert said.exit_code == 0, said.output
    points = json.loads(said.stdout)["points"]
    assert {"float32", "int8", "int8, ranges", "binary", "binary, scored by int8"} == {
        one["precision"] for one in points
    }
    text = out.read_text()
    assert "How few numbers and bits are enough?" in text
    assert "k reciprocal (transductive)" in text
    assert "In 8 bits by a range per coordinate, as other libraries do it, the model" in text
