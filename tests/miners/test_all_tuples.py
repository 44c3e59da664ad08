from collections import Counter

import pytest
import torch

from fairground.miners.all_tuples import AllTuplesMiner
from tests.losses.fixtures import F8, F8B, X
from tests.miners.oracle import all_triplets, assert_chances, evenly, seeded, triplet_list


@pytest.mark.parametrize("labels", [F8, F8B])
def test_lists_what_three_loops_list(labels):
    mined = triplet_list(AllTuplesMiner()(X, labels))
    assert len(mined) == len(set(mined))
    assert set(mined) == all_triplets(labels)


@pytest.mark.parametrize("cap", [1, 3, 8])
def test_a_cap_is_a_uniform_choice(cap):
    # Anchor 0 has 2 * 5 triplets: caps below and above half of them are drawn in two ways.
    generator = seeded(1)
    counts: Counter[int] = Counter()
    every = sorted(t for t in all_triplets(F8) if t[0] == 0)
    for _ in range(500):
        mined = triplet_list(AllTuplesMiner(per_anchor_cap=cap)(X, F8, generator=generator))
        counts.update(every.index(t) for t in mined if t[0] == 0)
    assert_chances(counts, evenly(range(len(every))))


def test_a_capped_batch_of_four_thousand_needs_no_list():
    labels = torch.arange(4096) // 2048
    mined = AllTuplesMiner(per_anchor_cap=3)(torch.zeros(4096, 2), labels, generator=seeded())
    assert mined.size == 3 * 4096
