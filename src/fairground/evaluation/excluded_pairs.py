"""Pairs that must not count: two images of one camera or one sequence, which a model finds too easily."""

from typing import Any, Literal

import numpy as np

from fairground.errors import require
from fairground.evaluation import inputs

GroupRule = Literal["same_group", "same_class_and_group"]
Codes = tuple[np.ndarray | None, np.ndarray | None]


def coded_groups(
    groups: Any,
    reference_groups: Any,
    rule: GroupRule,
    embeddings: inputs.Embeddings,
    references: inputs.Embeddings | None,
    classes: inputs.Coded | None,
) -> Codes:
    """Return numbers for rows and references such that pairs with equal numbers are left out; None without groups."""
    rules = ("same_group", "same_class_and_group")
    require(rule in rules, f"group_rule must be one of {', '.join(rules)}; got '{rule}'")
    if groups is None:
        require(reference_groups is None, "reference_groups were given without groups")
        return None, None
    require((references is None) == (reference_groups is None), "groups and reference_groups go together")
    mine = inputs.as_column(groups, len(embeddings), "groups")
    theirs = None if references is None else inputs.as_column(reference_groups, len(references), "reference_groups")
    both = inputs.coded(mine, theirs)
    if rule == "same_group":
        return both.queries, both.references
    require(classes is not None, "group_rule 'same_class_and_group' needs one label a row")
    assert classes is not None
    n = len(both.names)
    return classes.queries * n + both.queries, classes.references * n + both.references
