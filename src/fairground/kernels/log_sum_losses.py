"""Losses on logarithms of sums over the pairs of a batch, with their gradients; each equals the formula of its loss.

A kernel is a method of its loss. It returns None, to leave it to the formula, without a positive or a negative.
"""

from math import inf, radians, tan
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairground.contracts import KernelResult, LossInputs
from fairground.functional import softplus
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs, kernel_of_pairs, one_random_positive
from fairground.kernels.vector_gradients import kernel_of_distances, kernel_of_products, normalize_rows

#: exponentials of numbers up to this magnitude, and sums of millions of them, are well inside float32
SAFE = 64.0


class RowSums(NamedTuple):
    """`log` (n,): log sum exp of each row. `terms` (n, m) over `total` (n,) is each entry's share, its gradient."""

    log: Tensor
    terms: Tensor
    total: Tensor

    def shares_(self, weights: Tensor) -> Tensor:
        """Return `weights` (n,) shared out along each row, in the memory of the terms."""
        return self.terms.mul_((weights / self.total).unsqueeze(1))


def row_sums_(logits: Tensor, *, plus_one: bool = False, within: float = inf) -> RowSums:
    """Return log sum_j exp(logits_ij), or log(1 + that sum), overwriting the logits (n, m).

    `within` bounds the magnitude of the logits, minus infinity aside: where that is safe, none need be shifted.
    """
    tiny = torch.finfo(logits.dtype).tiny
    if within <= SAFE:
        terms = logits.exp_()
        total = terms.sum(1)
        return RowSums(total.log1p(), terms, total.add_(1)) if plus_one else RowSums(total.log(), terms, total + tiny)
    top = logits.amax(1).clamp_min_(0 if plus_one else torch.finfo(logits.dtype).min)
    terms = logits.sub_(top.unsqueeze(1)).exp_()
    total = terms.sum(1)
    if plus_one:
        total += (-top).exp_()
    return RowSums(total.log().add_(top), terms, total.clamp_min_(tiny))


def group_sums(
    values: Tensor, pairs: BatchPairs, *, plus_one: bool = False, within: float = inf
) -> tuple[Tensor, Tensor]:
    """Return log sum exp (n,), or log(1 + that sum), of the values (k,) of each anchor's positive pairs.

    And (k,): each value's share in its anchor's sum, its gradient.
    """
    group = pairs.anchor
    if within <= SAFE:
        terms = values.exp()
        total = values.new_full((pairs.n,), plus_one).index_add_(0, group, terms)
        return total.log(), terms.div_(total.take(group))
    top = values.new_full((pairs.n,), 0 if plus_one else torch.finfo(values.dtype).min)
    top.scatter_reduce_(0, group, values, "amax")
    terms = (values - top.take(group)).exp_()
    total = (-top).exp_() if plus_one else torch.zeros_like(top)
    total.index_add_(0, group, terms)
    return total.log().add_(top), terms.div_(total.take(group))


def tuplets_(logits: Tensor, positive: Tensor, pairs: BatchPairs, *, within: float = inf) -> tuple[Tensor, Tensor, Any]:
    """Return the terms (k,) for u = `logits` (n, n), which are overwritten, and v = `positive` (k,).

    And (k,): the gradient of each by U_a, which is minus that by v_ap. And a function that returns the gradient (n, n)
    in the memory of the logits: its first argument (k,) shared out over the negatives of each pair's anchor, less its
    second (k,) at the pair. `within` bounds the magnitude of the logits.
    """
    negatives = row_sums_(pairs.keep_negatives_(logits), within=within)
    gap = negatives.log.take(pairs.anchor) - positive

    def gradient_(push: Tensor, pull: Tensor) -> Tensor:
        return negatives.shares_(pairs.per_anchor(push)).put_(pairs.place, -pull, accumulate=True)

    return softplus(gap), gap.sigmoid(), gradient_


def circle(loss: Any, inputs: LossInputs) -> KernelResult | None:
    margin, gamma = loss.margin, loss.gamma

    def of_cosines(cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        positive = cosines.take(pairs.place)
        positive_rate = (1 + margin - positive).clamp_min_(0).mul_(-gamma)
        of_positives, shares = group_sums(positive_rate * (positive - 1 + margin), pairs)
        negative_rate = (cosines + margin).clamp_min_(0).mul_(gamma)
        negatives = row_sums_(pairs.keep_negatives_(cosines.sub_(margin).mul_(negative_rate)))
        # Minus infinity, and so a term of 0, where an anchor lacks either.
        pressure = of_positives + negatives.log
        terms = softplus(pressure)
        n_active = (terms > 0).sum()
        push = pressure.sigmoid() / n_active.clamp_min(1)
        gradient = negatives.shares_(push).mul_(negative_rate)
        pull = push.take(pairs.anchor) * shares * positive_rate
        return terms.sum() / n_active.clamp_min(1), gradient.put_(pairs.place, pull, accumulate=True)

    return kernel_of_pairs(inputs, of_cosines)


def nca(loss: Any, inputs: LossInputs) -> KernelResult | None:
    pairs, scale = batch_pairs(inputs), loss.scale

    def of_cosines(cosines: Tensor) -> tuple[Tensor, Tensor]:
        lengths = cosines.diagonal() * scale
        logits = cosines.mul_(2 * scale).sub_(lengths)
        of_positives, shares = group_sums(logits.take(pairs.place), pairs, within=3 * scale)
        negatives = row_sums_(pairs.keep_negatives_(logits), within=3 * scale)
        has_positive = of_positives > -torch.inf
        gap = torch.where(has_positive, negatives.log - of_positives, -torch.inf)
        n_anchors = has_positive.sum()
        push = gap.sigmoid().mul_(2 * scale).div_(n_anchors)
        gradient = negatives.shares_(push)
        pull = push.take(pairs.anchor) * shares
        return softplus(gap).sum() / n_anchors, gradient.put_(pairs.place, -pull, accumulate=True)

    return kernel_of_products(inputs.embeddings, of_cosines, normalise=True) if pairs.are_complete else None


def sup_con(loss: Any, inputs: LossInputs) -> KernelResult | None:
    temperature = loss.temperature

    def of_cosines(cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        logits = cosines.div_(temperature)
        n_positives = pairs.n_positives(logits)
        # 0 / 0 where an anchor has no positive.
        mean_positive = pairs.per_anchor(logits.take(pairs.place)) / n_positives
        # Of a row with one pair alone, which a miner may leave, the term must be 0 and not what log(exp(.)) leaves.
        within = 1 / temperature if pairs.log_counts is None else inf
        everyone = row_sums_(pairs.keep_pairs_(logits), within=within)
        terms = torch.where(n_positives > 0, everyone.log - mean_positive, 0)
        is_active = terms > 0
        n_active = is_active.sum()
        weights = is_active.to(terms.dtype) / n_active.clamp_min(1)
        pull = weights / n_positives / temperature
        gradient = everyone.shares_(weights / temperature)
        return terms @ weights, gradient.put_(pairs.place, -pull.take(pairs.anchor), accumulate=True)

    return kernel_of_pairs(inputs, of_cosines)


def tuplet_margin(loss: Any, inputs: LossInputs) -> KernelResult | None:
    margin, scale = radians(loss.margin), loss.scale
    pairs = batch_pairs(inputs, repeats=True)

    def of_cosines(cosines: Tensor) -> tuple[Tensor, Tensor]:
        cosine = cosines.take(pairs.place)
        kept = cosine.clamp(-1 + 1e-7, 1 - 1e-7)
        theta = kept.arccos()
        eased = theta - margin
        terms, pull, gradient_ = tuplets_(cosines.mul_(scale), scale * eased.cos(), pairs, within=scale)
        push = pull * (scale / len(cosine))
        # d cos(theta - margin) / d cos(theta)
        rate = eased.sin() / theta.sin() * (kept == cosine)
        return terms.mean(), gradient_(push, push * rate)

    return kernel_of_products(inputs.embeddings, of_cosines, normalise=True) if pairs.are_complete else None


def multi_similarity(loss: Any, inputs: LossInputs) -> KernelResult | None:
    alpha, beta, base = loss.alpha, loss.beta, loss.base
    if len(inputs.labels) == 0 or loss.self_positive_bug:
        return None

    def of_cosines(cosines: Tensor, pairs: BatchPairs) -> tuple[Tensor, Tensor]:
        positive = cosines.take(pairs.place)
        negative = pairs.keep_negatives_(cosines)
        if loss.epsilon is not None:
            # Negatives not to keep become minus infinity.
            hardest = negative.amax(1)
            weakest = positive.new_full((pairs.n,), torch.inf).scatter_reduce_(0, pairs.anchor, positive, "amin")
            negative.masked_fill_(negative + loss.epsilon <= weakest.unsqueeze(1), -torch.inf)
            kept = positive - loss.epsilon < hardest.take(pairs.anchor)
            pairs, positive = pairs.where(kept), positive[kept]
        weights = _weights(negative, pairs, loss.empty)
        widest = 1 + abs(base)
        of_positives, shares = group_sums(alpha * (base - positive), pairs, plus_one=True, within=alpha * widest)
        negatives = row_sums_(negative.sub_(base).mul_(beta), plus_one=True, within=beta * widest)
        terms = of_positives / alpha + negatives.log / beta
        gradient = negatives.shares_(weights)
        gradient.put_(pairs.place, -shares * weights.take(pairs.anchor), accumulate=True)
        return terms @ weights, gradient

    return kernel_of_pairs(inputs, of_cosines, complete=False)


def _weights(negative: Tensor, pairs: BatchPairs, empty: str) -> Tensor:
    """Return the weight (n,) of each anchor in the mean."""
    if empty == "halves":
        return negative.new_full((pairs.n,), 1 / pairs.n)
    survives = (negative.amax(1) > -torch.inf) * pairs.n_positives(negative).clamp_max_(1)
    return survives / (survives.sum() if empty == "survivors" else negative.new_tensor(pairs.n)).clamp_min(1)


def lifted_structure(loss: Any, inputs: LossInputs) -> KernelResult | None:
    pairs, margin = batch_pairs(inputs, repeats=True), loss.margin

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        apart = distances.take(pairs.place)
        negatives = row_sums_(pairs.keep_negatives_(margin - distances), within=abs(margin) + 2)
        at_anchor, at_positive = negatives.log.take(pairs.anchor), negatives.log.take(pairs.positive)
        violation = (torch.logaddexp(at_anchor, at_positive) + apart).clamp_min_(0)
        pull = violation / len(apart)
        # How much of the sum of a pair comes from its anchor's negatives; 0 / 0 where neither end has any.
        from_anchor = (at_anchor - at_positive).sigmoid().nan_to_num_()
        push = pairs.per_anchor(pull * from_anchor).index_add_(0, pairs.positive, pull * (1 - from_anchor))
        gradient = negatives.shares_(-push)
        return violation.square().mean() / 2, gradient.put_(pairs.place, pull, accumulate=True)

    return kernel_of_distances(inputs.embeddings, of_distances, normalise=True) if pairs.are_complete else None


def generalised_lifted_structure(loss: Any, inputs: LossInputs) -> KernelResult | None:
    pairs, margin = batch_pairs(inputs), loss.margin
    if not pairs.are_complete:
        return None
    within = abs(margin) + 2 if loss.normalise else inf

    def of_distances(distances: Tensor) -> tuple[Tensor, Tensor]:
        of_positives, shares = group_sums(distances.take(pairs.place), pairs, within=within)
        negatives = row_sums_(pairs.keep_negatives_(margin - distances), within=within)
        # Minus infinity, and so 0, where an anchor lacks either.
        violation = of_positives + negatives.log
        eligible = (violation > -torch.inf).sum().clamp_min_(1) if loss.reduction == "mean_anchor" else 1
        pull = (violation > 0).to(violation.dtype) / eligible
        gradient = negatives.shares_(-pull)
        gradient.put_(pairs.place, shares * pull.take(pairs.anchor), accumulate=True)
        return violation.clamp_min_(0).sum() / eligible, gradient

    result = kernel_of_distances(inputs.embeddings, of_distances, normalise=loss.normalise)
    return _with_norm_penalty(loss, inputs, result)


def angular(loss: Any, inputs: LossInputs) -> KernelResult | None:
    pairs = batch_pairs(inputs, repeats=True)
    if not pairs.are_complete:
        return None
    if loss.positives == "one_random":
        pairs = one_random_positive(pairs, inputs.generator)
    # All pairs come in both orders, with one and the same term.
    is_double = inputs.tuples is None and loss.positives == "all"
    half = pairs.where(pairs.anchor < pairs.positive) if is_double else pairs
    t2 = tan(radians(loss.alpha)) ** 2
    share = loss.angular_weight / len(half.anchor)

    def of_cosines(cosines: Tensor) -> tuple[Tensor, Tensor]:
        closeness = 2 * (1 + t2) * cosines.take(half.place)
        by_positive = cosines.mul_(4 * t2)
        by_anchor = half.keep_negatives_(by_positive.clone())
        total, gradient = cosines.new_zeros(()), torch.zeros_like(cosines)
        # As many pairs at a time as the batch has rows: no block is larger than the matrix of cosines.
        for first in range(0, len(half.anchor), half.n):
            block = slice(first, first + half.n)
            anchor, positive = half.anchor[block], half.positive[block]
            exponents = by_anchor.index_select(0, anchor).add_(by_positive.index_select(0, positive))
            exponents.sub_(closeness[block].unsqueeze(1))
            sums = row_sums_(exponents, plus_one=True, within=10 * t2 + 2)
            total += sums.log.sum()
            shares = sums.shares_(torch.full_like(sums.log, share))
            closer = shares.sum(1)
            gradient.index_add_(0, anchor, shares, alpha=4 * t2).index_add_(0, positive, shares, alpha=4 * t2)
            gradient.put_(half.place[block], closer.mul_(-2 * (1 + t2)), accumulate=True)
        return total * share, gradient

    def npair_of_products(products: Tensor) -> tuple[Tensor, Tensor]:
        positive = products.take(pairs.place)
        terms, pull, gradient_ = tuplets_(products, positive, pairs, within=1 if loss.normalise else inf)
        pull = pull / len(pull)
        return terms.mean(), gradient_(pull, pull)

    result = kernel_of_products(inputs.embeddings, of_cosines, normalise=True)
    if loss.npair_weight > 0:
        npair = kernel_of_products(inputs.embeddings, npair_of_products, normalise=loss.normalise)
        value = result.value + loss.npair_weight * npair.value
        result = KernelResult(value, result.gradient.add_(npair.gradient, alpha=loss.npair_weight))
    return _with_norm_penalty(loss, inputs, result)


def _with_norm_penalty(loss: Any, inputs: LossInputs, result: KernelResult) -> KernelResult:
    """Return the result with norm_weight * mean over the batch of ||x||, or of ||x||^2 for norm_power 2."""
    embeddings, step = inputs.embeddings, loss.norm_weight / len(inputs.labels)
    if step == 0:
        return result
    if loss.norm_power == 2:
        value = result.value + step * embeddings.square().sum()
        return KernelResult(value, result.gradient.add(embeddings, alpha=2 * step))
    units, _ = normalize_rows(embeddings)
    value = result.value + step * (units * embeddings).sum()
    return KernelResult(value, result.gradient.add(units, alpha=step))
