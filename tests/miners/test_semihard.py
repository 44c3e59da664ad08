from fairground.miners.semihard import SemihardMiner
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import (
    assert_chances,
    distances_by_loop,
    draw_often,
    evenly,
    marginal,
    negatives_of,
    positives_of,
    random_batch,
    seeded,
    triplet_list,
)


def candidates_by_loop(embeddings, labels, anchor, positive, margin):
    d = distances_by_loop(embeddings)[anchor]
    negatives = negatives_of(labels, anchor)
    return [n for n in negatives if d[positive] < d[n] < d[positive] + margin] or negatives


def test_fixture_anchor():
    # d_0 = (0, .956, 1.900, 1.865, .914, .395, 1.145, 1.934): row 6 alone lies between .956 and 1.156.
    for seed in range(20):
        mined = triplet_list(SemihardMiner(margin=0.2)(X, F8B, generator=seeded(seed)))
        assert mined[0] == (0, 1, 6)


def test_without_an_upper_bound_in_reach_the_fixture_gives_the_set_of_equation_20():
    counts = draw_often(SemihardMiner(margin=2), X, F8B, 100)
    assert set(marginal(counts, 0, lambda t: t[2])) == {2, 3, 6, 7}


def test_draws_evenly_among_candidates_and_falls_back_to_any_negative():
    embeddings, labels = random_batch(10, 3, 3, seed=4)
    counts = draw_often(SemihardMiner(margin=0.3), embeddings, labels, 800)
    for anchor in range(10):
        positives = positives_of(labels, anchor)
        assert_chances(marginal(counts, anchor, lambda t: t[1]), evenly(positives))
        for positive in positives:
            given = {t: c for t, c in counts.items() if t[:2] == (anchor, positive)}
            candidates = candidates_by_loop(embeddings, labels, anchor, positive, 0.3)
            assert_chances(marginal(given, anchor, lambda t: t[2]), evenly(candidates))


def test_a_margin_of_nothing_falls_back_for_every_anchor():
    counts = draw_often(SemihardMiner(margin=0), X, F8, 150)
    for anchor in range(7):
        assert set(marginal(counts, anchor, lambda t: t[2])) == set(negatives_of(F8, anchor))
