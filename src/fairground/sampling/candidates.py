"""A pool of images, and candidate batches drawn from it, for samplers that keep the best of several."""

from typing import NamedTuple

import torch
from torch import Tensor

from fairground.sampling.class_rows import ClassRows
from fairground.sampling.draws import draw_distinct, draw_distinct_rows


class Candidates(NamedTuple):
    """`rows` (p,) of the pool, all different, and m batches as positions in it: `batches` (m, b)."""

    rows: Tensor
    batches: Tensor


def draw_candidates(
    classes: ClassRows,
    *,
    pool: int,
    n_candidates: int,
    n_slots: int,
    per_class: int,
    replace_classes: bool,
    generator: torch.Generator,
) -> Candidates:
    """Return a pool of at most `pool` rows and candidates of `n_slots` of its classes with `per_class` rows each.

    Classes are drawn with replacement or, without, each as often as any other: then the pool has a class a second time
    only when it has all of them, and a candidate never has.
    """
    rows = _draw_pool(classes, pool // per_class, per_class, replace_classes, generator)
    groups = ClassRows(classes.group[rows])
    if replace_classes:
        size = (n_candidates, n_slots)
        chosen = torch.randint(groups.n_classes, size, generator=generator, device=generator.device)
    else:
        chosen = draw_distinct_rows(groups.n_classes, n_slots, n_candidates, generator)
    batches = groups.draw(chosen.flatten(), per_class, generator)
    return Candidates(rows, batches.view(n_candidates, n_slots * per_class))


def _draw_pool(
    classes: ClassRows, n_draws: int, per_class: int, replace_classes: bool, generator: torch.Generator
) -> Tensor:
    """Return different rows: those of `n_draws` classes, where a class that comes up again gives other rows."""
    n_classes = classes.n_classes
    if replace_classes:
        drawn = torch.randint(n_classes, (n_draws,), generator=generator, device=generator.device)
        rows = classes.draw(drawn, per_class, generator).flatten()
    else:
        n_rounds, n_left = divmod(n_draws, n_classes)
        last_round = draw_distinct(n_classes, n_left, generator)
        if n_rounds == 0:
            rows = classes.draw(last_round, per_class, generator).flatten()
        else:
            everything = torch.arange(n_classes, device=generator.device)
            of_class = classes.draw(everything, (n_rounds + 1) * per_class, generator)
            rows = torch.cat([of_class[:, :-per_class].flatten(), of_class[last_round, -per_class:].flatten()])
    different: Tensor = torch.unique(rows)
    return different
