"""Every loss on the fixture in plain Python, by loops that share no code with the package.

Each function has the name of its loss, takes the tuples of a batch or one sample with its class, and the settings.
"""

from math import acos, atanh, cos, exp, floor, inf, log, log1p, pi, radians, sin, sqrt, tan, tanh
from statistics import pvariance

from torch import Tensor

from fairground.contracts.loss import Pairs, Triplets
from tests.losses.fixtures import CENTRES, PROXIES, X

Matrix = list[list[float]]


class Tuples:
    """Ordered pairs and triplets of a batch: all there are, or those of a miner with their repeats."""

    def __init__(self, labels: Tensor, mined: Pairs | Triplets | None = None) -> None:
        self.labels: list[int] = labels.tolist()
        self.is_mined = mined is not None
        y, every = self.labels, range(len(labels))
        if mined is None:
            self.positive = [(a, p) for a in every for p in every if a != p and y[a] == y[p]]
            self.negative = [(a, n) for a in every for n in every if y[a] != y[n]]
            self.triplets = [(a, p, n) for a, p in self.positive for n in self.far(a)]
            return
        rows = [index.tolist() for index in mined]
        if isinstance(mined, Triplets):
            self.triplets = list(zip(*rows, strict=True))
            rows = [rows[0], rows[1], rows[0], rows[2]]
        self.positive = list(zip(rows[0], rows[1], strict=True))
        self.negative = list(zip(rows[2], rows[3], strict=True))

    def near(self, a: int) -> list[int]:
        """Return the positives of a, each once."""
        return sorted({p for anchor, p in self.positive if anchor == a})

    def far(self, a: int) -> list[int]:
        """Return the negatives of a, each once."""
        return sorted({n for anchor, n in self.negative if anchor == a})


def products(x: Tensor) -> Matrix:
    rows = x.tolist()
    return [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows]


def cosines(x: Tensor) -> Matrix:
    dots = products(x)
    return [[dots[i][j] / sqrt(dots[i][i] * dots[j][j]) for j in range(len(dots))] for i in range(len(dots))]


def cosine(left: Tensor, right: Tensor) -> float:
    u, v = left.tolist(), right.tolist()
    dot = sum(a * b for a, b in zip(u, v, strict=True))
    return float(dot / sqrt(sum(a * a for a in u)) / sqrt(sum(b * b for b in v)))


def distances(x: Tensor) -> Matrix:
    rows = x.tolist()
    return [[sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True))) for v in rows] for u in rows]


def mean(values: list[float]) -> float:
    """Return the mean, 0 for none."""
    return sum(values) / len(values) if values else 0.0


def mean_nonzero(values: list[float]) -> float:
    return mean([value for value in values if value > 0])


def logarithm(value: float) -> float:
    return log(value) if value > 0 else -inf


def sigmoid(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -700 else 0.0


MEANS = {"mean_nz": mean_nonzero, "mean_all": mean}
EVERY = range(8)
LENGTHS = [sqrt(sum(a * a for a in row)) for row in X.tolist()]
UNITS = [[a / length for a in row] for row, length in zip(X.tolist(), LENGTHS, strict=True)]
#: inner products of the raw embeddings, cosines, distances on the sphere and off it
DOT, S, RAW = products(X), cosines(X), distances(X)
D = [[sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True))) for v in UNITS] for u in UNITS]
#: signal-to-noise ratios
SNR = [[pvariance([b - a for a, b in zip(u, v, strict=True)]) / pvariance(u) for v in UNITS] for u in UNITS]


def contrastive(tuples, *, positive_margin, negative_margin, reduction, d=D):
    near = [max(0.0, d[a][p] - positive_margin) for a, p in tuples.positive]
    far = [max(0.0, negative_margin - d[a][n]) for a, n in tuples.negative]
    return MEANS[reduction](near) + MEANS[reduction](far)


def triplet(tuples, *, margin, power=1, reduction="mean_nz", swap=False, smooth=False, d=D):
    excesses = [
        d[a][p] ** power - (min(d[a][n], d[p][n]) if swap else d[a][n]) ** power + margin for a, p, n in tuples.triplets
    ]
    if smooth:
        return mean([log1p(exp(excess)) for excess in excesses])
    return MEANS[reduction]([max(0.0, excess) for excess in excesses])


def snr(tuples, *, form="contrastive", margin=0.2, reduction, zero_mean_weight=0.0, **margins):
    sums = [abs(sum(row)) for row in UNITS]
    if form == "contrastive":
        return contrastive(tuples, **margins, reduction=reduction, d=SNR) + zero_mean_weight * mean(sums)
    # The zero-mean term of the triplet form is about samples that anchor a triplet, or once for every mined one.
    anchors = [a for a, _, _ in tuples.triplets]
    of_anchors = mean([sums[a] for a in (anchors if tuples.is_mined else set(anchors))])
    return triplet(tuples, margin=margin, reduction=reduction, d=SNR) + zero_mean_weight * of_anchors


def margin(tuples, *, margin, beta, count, beta_weight=0.0):
    border = beta if isinstance(beta, list) else [beta] * 4
    borders = [border[tuples.labels[a] % 4] for a, _, _ in tuples.triplets]
    terms = [
        (max(0.0, D[a][p] - b + margin), max(0.0, b - D[a][n] + margin))
        for (a, p, n), b in zip(tuples.triplets, borders, strict=True)
    ]
    active = [(near > 0) + (far > 0) if count == "pairs" else near > 0 or far > 0 for near, far in terms]
    total = sum(near + far for near, far in terms)
    return (total / sum(active) if any(active) else 0.0) + beta_weight * mean(borders)


def quadruplet(tuples, *, margin, second_margin, reduction):
    y = tuples.labels
    first = [max(0.0, D[a][p] - D[a][n] + margin) for a, p, n in tuples.triplets]
    fours = [(a, p, n, m) for a, p, n in tuples.triplets for m in tuples.far(a) if y[n] != y[m]]
    second = [max(0.0, D[a][p] - D[n][m] + second_margin) for a, p, n, m in fours]
    return MEANS[reduction](first) + MEANS[reduction](second)


def n_pair(tuples, *, normalise=False, positives="all", norm_weight=0.0, norm_power=1):
    s = S if normalise else DOT
    if positives == "one_per_class":
        firsts = {}
        for a, p in tuples.positive:
            firsts.setdefault(tuples.labels[a], (a, p))
        chosen = list(firsts.values())
        terms = [log(sum(exp(s[a][q] - s[a][p]) for _, q in chosen)) for a, p in chosen]
    else:
        terms = [log(1 + sum(exp(s[a][n] - s[a][p]) for n in tuples.far(a))) for a, p in tuples.positive]
    return mean(terms) + norm_weight * mean([length**norm_power for length in LENGTHS])


def _decoupled(tuples, temperature, sigma):
    """Return the terms of (a, p) whose anchor has negatives."""
    usual = mean([exp(S[a][p] / sigma) for a, p in tuples.positive]) if sigma else 0.0
    return {
        (a, p): log(sum(exp(S[a][n] / temperature) for n in tuples.far(a)))
        - (2 - exp(S[a][p] / sigma) / usual if sigma else 1) * S[a][p] / temperature
        for a, p in tuples.positive
        if tuples.far(a)
    }


def nt_xent(tuples, *, temperature, decoupled=False, decoupled_sigma=None):
    if decoupled:
        terms = _decoupled(tuples, temperature, decoupled_sigma)
        return mean([terms[pair] for pair in tuples.positive if pair in terms])
    return mean(
        [log(1 + sum(exp((S[a][n] - S[a][p]) / temperature) for n in tuples.far(a))) for a, p in tuples.positive]
    )


def sup_con(tuples, *, temperature, decoupled=False, decoupled_sigma=None):
    if decoupled:
        tuples.positive = sorted(set(tuples.positive))
        terms = _decoupled(tuples, temperature, decoupled_sigma)
        anchors = {a for a, _ in terms}
        return mean([mean([terms[a, p] for p in tuples.near(a)]) for a in anchors])
    terms = []
    for a in EVERY if tuples.negative else ():
        everyone = sum(exp(S[a][k] / temperature) for k in tuples.near(a) + tuples.far(a))
        terms.append(mean([-log(exp(S[a][p] / temperature) / everyone) for p in tuples.near(a)]))
    return mean_nonzero(terms)


def sigmoid_pairs(tuples, *, scale, bias=None, balanced=False):
    if bias is None:
        bias = log(max(1, len(tuples.positive)) / max(1, len(tuples.negative)))
    total = 0.0
    for pairs, sign in ((tuples.positive, -1), (tuples.negative, 1)):
        for a, j in pairs:
            share = sum(anchor == a for anchor, _ in pairs) if balanced else 1
            total += log1p(exp(sign * (scale * S[a][j] + bias))) / share
    return total / 8


def adasp(tuples, *, temperature, positive="adaptive"):
    terms = []
    for c in sorted(set(tuples.labels)):
        own = [i for i in EVERY if tuples.labels[i] == c]
        sums = [sum(exp(-S[i][j] / temperature) for j in own) for i in own]
        hardest, least_hard = -log(sum(sums)), log(sum(1 / one for one in sums))
        weight = {"hardest": 1.0, "least_hard": 0.0}.get(positive)
        if weight is None:
            low, high = temperature * hardest, temperature * least_hard
            weight = 2 * low * high / (low + high) if low > 0 else 0.0
        sparse = weight * hardest + (1 - weight) * least_hard
        others = sum(exp(S[i][j] / temperature) for i in own for j in EVERY if j not in own)
        terms += [log1p(others / exp(sparse))] if len(own) > 1 else []
    return mean(terms)


def nca(tuples, *, scale):
    terms = []
    for i in EVERY:
        weight = {k: exp(-scale * D[i][k] ** 2) for k in EVERY if k != i}
        if tuples.near(i):
            terms.append(-log(sum(weight[p] for p in tuples.near(i)) / sum(weight.values())))
    return mean(terms)


def angular(tuples, *, alpha):
    t2 = tan(radians(alpha)) ** 2
    return mean(
        [
            log(1 + sum(exp(4 * t2 * (S[a][n] + S[p][n]) - 2 * (1 + t2) * S[a][p]) for n in tuples.far(a)))
            for a, p in tuples.positive
        ]
    )


def tuplet_margin(tuples, *, margin, scale):
    targets = [cos(acos(S[a][p]) - radians(margin)) for a, p in tuples.positive]
    return mean(
        [
            log(1 + sum(exp(scale * (S[a][n] - target)) for n in tuples.far(a)))
            for (a, _), target in zip(tuples.positive, targets, strict=True)
        ]
    )


def circle(tuples, *, margin, gamma):
    terms = []
    for a in EVERY:
        pull = sum(exp(-gamma * max(0, 1 + margin - S[a][p]) * (S[a][p] - 1 + margin)) for p in tuples.near(a))
        push = sum(exp(gamma * max(0, S[a][n] + margin) * (S[a][n] - margin)) for n in tuples.far(a))
        terms.append(log(1 + pull * push))
    return mean_nonzero(terms)


def lifted_structure(tuples, *, margin):
    terms = []
    for a, p in tuples.positive:
        others = [D[end][n] for end in (a, p) for anchor, n in tuples.negative if anchor == end]
        violation = logarithm(sum(exp(margin - distance) for distance in others)) + D[a][p]
        terms.append(max(0, violation) ** 2 / 2)
    return mean(terms)


def generalised_lifted_structure(tuples, *, margin, normalise=False, reduction="mean_anchor", **price):
    d = D if normalise else RAW
    terms = [
        max(0, log(sum(exp(d[a][p]) for p in tuples.near(a))) + log(sum(exp(margin - d[a][n]) for n in tuples.far(a))))
        for a in EVERY
        if tuples.near(a) and tuples.far(a)
    ]
    length = price.get("norm_weight", 0) * mean([length ** price.get("norm_power", 1) for length in LENGTHS])
    return (sum(terms) if reduction == "sum" else mean(terms)) + length


def multi_similarity(tuples, *, alpha, beta, base, epsilon=None, empty="halves", self_positive_bug=False):
    terms = []
    for i in EVERY:
        near, far = tuples.near(i) + [i] * self_positive_bug, tuples.far(i)
        if epsilon is not None:
            hardest = max([S[i][n] for n in far], default=-inf)
            weakest = min([S[i][p] for p in near], default=inf)
            near = [p for p in near if S[i][p] - epsilon < hardest]
            far = [n for n in far if S[i][n] + epsilon > weakest]
        pull = log(1 + sum(exp(-alpha * (S[i][p] - base)) for p in near)) / alpha
        push = log(1 + sum(exp(beta * (S[i][n] - base)) for n in far)) / beta
        if empty == "halves" or (near and far):
            terms.append(pull + push)
    return mean(terms) if empty == "survivors" else sum(terms) / 8


def ranked_list(tuples, *, alpha, margin, negative_weight, positive_temperature, negative_temperature):
    def weighted(violations, temperature):
        kept = [v for v in violations if v > 0]
        return sum(exp(temperature * v) * v for v in kept) / sum(exp(temperature * v) for v in kept) if kept else 0.0

    return mean(
        [
            (1 - negative_weight) * weighted([D[i][p] - alpha + margin for p in tuples.near(i)], positive_temperature)
            + negative_weight * weighted([alpha - D[i][n] for n in tuples.far(i)], negative_temperature)
            for i in EVERY
        ]
    )


def histogram(tuples, *, nodes):
    width = 2 / (nodes - 1)

    def shares(pairs):
        once = {(min(pair), max(pair)) for pair in pairs}
        return [mean([max(0, 1 - abs(S[i][j] + 1 - r * width) / width) for i, j in once]) for r in range(nodes)]

    positive, negative = shares(tuples.positive), shares(tuples.negative)
    return sum(negative[r] * sum(positive[: r + 1]) for r in range(nodes))


def fast_ap(tuples, *, bins):
    terms = []
    for i in EVERY:

        def weights(others, i=i):
            nodes = [4 * node / bins for node in range(bins + 1)]
            return [sum(max(0, 1 - abs(D[i][j] ** 2 - node) * bins / 4) for j in others) for node in nodes]

        near, everyone = weights(tuples.near(i)), weights([j for j in EVERY if j != i])
        below = [(sum(near[: node + 1]), sum(everyone[: node + 1])) for node in range(bins + 1)]
        if tuples.near(i):
            total = sum(
                near[node] * ours / all_of_them for node, (ours, all_of_them) in enumerate(below) if all_of_them
            )
            terms.append(1 - total / len(tuples.near(i)))
    return mean(terms)


def _rank(a, p, among, temperature):
    return 1 + sum(sigmoid((S[a][j] - S[a][p]) / temperature) for j in among if j != p)


def smooth_ap(tuples, *, temperature, query_in_ranking):
    terms = []
    for a in EVERY:
        if tuples.near(a):
            near = tuples.near(a) + [a] * query_in_ranking
            everyone = [j for j in EVERY if j != a or query_in_ranking]
            precisions = [_rank(a, p, near, temperature) / _rank(a, p, everyone, temperature) for p in near]
            terms.append(1 - mean(precisions))
    return mean(terms)


def recall_at_k(tuples, *, rank_temperature, count_temperature, query_in_ranking):
    terms = []
    for a in EVERY if tuples.negative else ():
        near, others = tuples.near(a), [j for j in EVERY if j != a or query_in_ranking]
        for k in (1, 2, 4, 8, 16) if near else ():
            ranks = [_rank(a, p, others, rank_temperature) for p in near]
            within = sum(sigmoid((k - rank) / count_temperature) for rank in ranks)
            terms.append(1 - min(within, k) / min(k, len(near)))
    return mean(terms)


def pairwise_cross_entropy(tuples, *, distance, temperature, reduction, curvature=0.1, longest=2.3, epsilon=1e-5):
    y = tuples.labels
    position = [y[:i].count(y[i]) for i in EVERY]

    def similarity(a, b):
        if distance == "cosine":
            return S[a][b] / temperature
        x, w = (_in_ball(X[row].tolist(), curvature, longest, epsilon) for row in (a, b))
        dot, own, other = (sum(s * t for s, t in zip(*pair, strict=True)) for pair in ((x, w), (x, x), (w, w)))
        below = 1 - 2 * curvature * dot + curvature**2 * own * other
        # The Möbius sum of -x and w.
        left, right = -(1 - 2 * curvature * dot + curvature * other), 1 - curvature * own
        total = [(left * s + right * t) / (below + epsilon) for s, t in zip(x, w, strict=True)]
        return -2 / sqrt(curvature) * atanh(sqrt(curvature * sum(t * t for t in total))) / temperature

    terms = []
    for a, p in tuples.positive:
        others = [n for n in tuples.far(a) if position[n] in (position[a], position[p])]
        own = similarity(a, p)
        terms.append(log(exp(own) + sum(exp(similarity(a, n)) for n in others)) - own)
    n_classes = len({y[a] for a, _ in tuples.positive})
    return mean(terms) if reduction == "mean" else sum(terms) / max(1, n_classes)


def _in_ball(vector, curvature, longest, epsilon):
    length = sqrt(sum(v * v for v in vector))
    cut = [v * min(1, longest / (length + epsilon)) for v in vector]
    length = sqrt(sum(v * v for v in cut))
    return [tanh(sqrt(curvature) * length) * v / (sqrt(curvature) * length) for v in cut]


def hierarchical_ap(
    tuples, *, levels=None, query_in_ranking, calibration_weight=0.0, temperature=0.01, offset=1.44, alpha=1.0
):
    y = tuples.labels
    names = [[label] if levels is None else levels[label].tolist() for label in y]
    terms = []
    for q in EVERY:
        listed = [k for k in EVERY if k != q or query_in_ranking]
        shared = {k: sum(u == v for u, v in zip(names[q], names[k], strict=True)) for k in listed}
        sizes = {level: list(shared.values()).count(level) for level in shared.values()}
        relevance = {k: (level / len(names[q])) ** alpha / sizes[level] for k, level in shared.items()}
        total, shares = sum(relevance.values()), 0.0
        if not any(relevance[k] > 0 for k in listed if k != q):
            continue
        for k in listed:
            rank, hierarchical = 1.0, relevance[k]
            for j in listed:
                t = S[q][j] - S[q][k]
                if j != k:
                    hierarchical += min(relevance[j], relevance[k]) * (t >= 0)
                    if relevance[j] >= relevance[k]:
                        rank += t >= 0
                    else:
                        soft = sigmoid(t / temperature)
                        rank += soft if t <= 0 else 0.5 + soft if t <= 0.05 else 100 * (t - 0.05) + offset
            shares += hierarchical / rank
        terms.append(1 - shares / total)
    near = mean_nonzero([0.9 - S[a][p] for a, p in tuples.positive])
    far = mean_nonzero([S[a][n] - 0.6 for a, n in tuples.negative])
    return mean(terms) + calibration_weight * (near + far) * bool(tuples.positive and tuples.negative)


def hist(labels, *, tau, alpha, hypergraph_weight):
    """Means, logarithms of variances and both layers of the hypergraph are the proxies alike, all biases 0."""
    weights = PROXIES.tolist()
    means = [[v / sqrt(sum(w * w for w in row)) for v in row] for row in weights]
    far = [
        [
            sum((x - m) ** 2 / exp(min(6, max(0, v))) for x, m, v in zip(row, mean, own, strict=True))
            for mean, own in zip(means, weights, strict=True)
        ]
        for row in UNITS
    ]
    value = mean([_cross_entropy([-tau * d for d in far[i]], labels[i]) for i in EVERY])
    present = sorted(set(labels))
    h = [[1.0 if labels[i] == c else exp(-alpha * far[i][c]) for c in present] for i in EVERY]
    rows, columns = [sum(row) for row in h], [sum(column) for column in zip(*h, strict=True)]
    g = [
        [sum(s * t / c for s, t, c in zip(h[i], h[j], columns, strict=True)) / sqrt(rows[i] * rows[j]) for j in EVERY]
        for i in EVERY
    ]

    def through(layer, given):
        affine = [[sum(a * w for a, w in zip(row, weight, strict=True)) for weight in layer] for row in given]
        return [[sum(g[i][j] * affine[j][f] for j in EVERY) for f in range(len(layer))] for i in EVERY]

    hidden = through(weights, UNITS)
    for f in range(4):
        column = [row[f] for row in hidden]
        centre, spread = mean(column), sqrt(pvariance(column) + 1e-5)
        for row in hidden:
            row[f] = (row[f] - centre) / spread
            row[f] *= 1.0 if row[f] > 0 else 0.1
    logits = through(weights, hidden)
    return value + hypergraph_weight * mean([_cross_entropy(logits[i], labels[i]) for i in EVERY])


def _cross_entropy(logits: list[float], y: int) -> float:
    return log(sum(exp(logit) for logit in logits)) - logits[y]


def normalised_softmax(x, y, *, temperature):
    return _cross_entropy([cosine(x, w) / temperature for w in PROXIES], y)


def cos_face(x, y, *, margin, scale):
    return _cross_entropy([scale * (cosine(x, w) - margin * (c == y)) for c, w in enumerate(PROXIES)], y)


def unified_cross_entropy(x, y, *, margin, scale, bias, negative_weight):
    cosines = [cosine(x, w) for w in PROXIES]
    others = sum(log1p(exp(scale * s - bias)) for c, s in enumerate(cosines) if c != y)
    return log1p(exp(bias - scale * (cosines[y] - margin))) + negative_weight * others


def adaface(x, y, *, margin, concentration, scale, rate):
    length = sqrt(sum(v * v for v in x.tolist()))
    average = mean(LENGTHS)
    deviation = sqrt(sum((other - average) ** 2 for other in LENGTHS) / 7)
    average, deviation = 20 + rate * (average - 20), 100 + rate * (deviation - 100)
    h = max(-1.0, min(1.0, concentration * (length - average) / (deviation + 1e-3)))
    logits = [scale * cosine(x, w) for w in PROXIES]
    theta = max(1e-3, min(pi - 1e-3, acos(cosine(x, PROXIES[y])) - margin * h))
    logits[y] = scale * (cos(theta) - margin * (1 + h))
    return _cross_entropy(logits, y)


def magface(x, y, *, low_norm, high_norm, low_margin, high_margin, scale, norm_weight):
    length = max(low_norm, min(high_norm, sqrt(sum(v * v for v in x.tolist()))))
    margin = low_margin + (high_margin - low_margin) * (length - low_norm) / (high_norm - low_norm)
    logits = [scale * cosine(x, w) for w in PROXIES]
    own = cosine(x, PROXIES[y])
    logits[y] = scale * (cos(acos(own) + margin) if own > 0 else own)
    return _cross_entropy(logits, y) + norm_weight * (length / high_norm**2 + 1 / length)


def arc_face(x, y, *, margin, scale, fallback=True):
    logits = [scale * cosine(x, w) for w in PROXIES]
    theta = acos(cosine(x, PROXIES[y]))
    past = fallback and theta > pi - margin
    logits[y] = scale * (cos(theta) - margin * sin(margin) if past else cos(theta + margin))
    return _cross_entropy(logits, y)


def sub_centre_arc_face(x, y, *, n_centres, margin, scale):
    near = [max(cosine(x, w) for w in centres) for centres in CENTRES]
    return _cross_entropy([scale * cos(acos(s) + margin * (c == y)) for c, s in enumerate(near)], y)


def sphere_face(x, y, *, margin, scale, cosine_weight):
    length = scale * sum(v * v for v in x.tolist()) ** 0.5
    theta = acos(cosine(x, PROXIES[y]))
    k = floor(margin * theta / pi)
    psi = (-1) ** k * cos(margin * theta) - 2 * k
    logits = [length * cosine(x, w) for w in PROXIES]
    logits[y] = length * (cosine_weight * cos(theta) + psi) / (cosine_weight + 1)
    return _cross_entropy(logits, y)


def proxy_nca(x, y, *, scale, positive_in_denominator=True, power=2):
    far = [scale * (2 - 2 * cosine(x, p)) ** (power / 2) for p in PROXIES]
    return far[y] + log(sum(exp(-far[c]) for c in range(4) if positive_in_denominator or c != y))


def proxy_nca_pp(x, y, *, temperature):
    return _cross_entropy([-(2 - 2 * cosine(x, p)) / temperature for p in PROXIES], y)


def soft_triple(x, y, *, n_centres, scale, gamma, margin, reg_weight):
    logits = []
    for c, centres in enumerate(CENTRES):
        near = [cosine(x, w) for w in centres]
        shares = [exp(s / gamma) for s in near]
        soft = sum(share * s for share, s in zip(shares, near, strict=True)) / sum(shares)
        logits.append(scale * (soft - margin * (c == y)))
    spread = sum(sqrt(2 - 2 * cosine(*centres)) for centres in CENTRES) / (4 * 2 * 1)
    return _cross_entropy(logits, y) + reg_weight * spread


def proxy_anchor(labels, *, alpha, margin):
    pull, push = [], []
    for c, p in enumerate(PROXIES):
        own = [exp(-alpha * (cosine(x, p) - margin)) for x, y in zip(X, labels, strict=True) if y == c]
        others = [exp(alpha * (cosine(x, p) + margin)) for x, y in zip(X, labels, strict=True) if y != c]
        pull += [log(1 + sum(own))] if own else []
        push.append(log(1 + sum(others)))
    return mean(pull) + mean(push)


def centre(x, y, *, weight):
    """Class weights and centres are the proxies alike, the biases 0."""
    logits = [sum(a * b for a, b in zip(x.tolist(), w, strict=True)) for w in PROXIES.tolist()]
    far = sum((a - c) ** 2 for a, c in zip(x.tolist(), PROXIES[y].tolist(), strict=True))
    return _cross_entropy(logits, y) + weight / 2 * far
