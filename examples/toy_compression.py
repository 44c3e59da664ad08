"""Does rho-regularisation keep more directions? The two-dimensional toy of Roth et al. (ICML 2020), taken apart.

    python examples/toy_compression.py [--output toy_compression.png] [--seeds 5] [--iterations 200]

A network 2-30-30-2 puts points of the plane on the unit circle and learns four classes with a contrastive loss. In
figure 6 of the paper these lie on a diagonal, in figure 11 they are vertical lines; test classes differ in ways that
training never had to notice. The paper's regularised network keeps both singular values of its training embedding
large.

Finding
    The paper's script, once p_switch > 0, no longer attracts positives at all: its loss is the repulsion alone, where
    one negative in a thousand is a positive. That is what flattens the spectrum: without attraction it is flat with
    p_switch = 0 too. With the attraction kept, as the text has it, switching one tuple in a thousand changes nothing
    that can be seen, and neither does switching a hundred times as many. The nearest neighbours of test points are
    surer of their class with the flat spectrum on the vertical lines, and no surer on the diagonal.

`drop_attraction=True` draws the paper's figure, `drop_attraction=False` is what its text describes. Figure 11 was
published without coordinates or script: the lines here are ours.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor, nn
from torch.nn import functional

from fairground.contracts.loss import Pairs
from fairground.losses import ContrastiveLoss
from fairground.miners import AllTuplesMiner

#: segments of the plane, each one class: from a point to a point
Segments = tuple[tuple[tuple[float, float], tuple[float, float]], ...]


@dataclass(frozen=True, kw_only=True)
class Toy:
    """The classes to learn and the classes to separate afterwards."""

    name: str
    train: Segments
    test: Segments


TOYS = (
    Toy(
        name="Figure 6: a diagonal",
        train=tuple(((low, low), (low + 0.2, low + 0.2)) for low in (0.10, 0.35, 0.60, 0.85)),
        test=(
            ((0.2, 0.20), (0.2, 0.40)),
            ((0.2, 0.55), (0.2, 0.85)),
            ((0.40, 0.2), (0.60, 0.2)),
            ((0.70, 0.2), (0.90, 0.2)),
        ),
    ),
    Toy(
        name="Figure 11: vertical lines",
        train=tuple(((x, 0.1), (x, 0.9)) for x in (0.2, 0.4, 0.6, 0.8)),
        test=(((0.5, 0.1), (0.5, 0.4)), ((0.5, 0.6), (0.5, 0.9))),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to train. `p_switch` replaces that share of negatives by the positive of their triplet."""

    name: str
    p_switch: float
    drop_attraction: bool


VARIANTS = (
    Variant(name="not regularised", p_switch=0.0, drop_attraction=False),
    Variant(name="script: no attraction, p = 0.001", p_switch=0.001, drop_attraction=True),
    Variant(name="control: no attraction, p = 0", p_switch=0.0, drop_attraction=True),
    Variant(name="text: attraction, p = 0.001", p_switch=0.001, drop_attraction=False),
    Variant(name="text: attraction, p = 0.1", p_switch=0.1, drop_attraction=False),
)
#: the variants whose embeddings are drawn
SHOWN = (0, 1, 3)
#: told apart by colour-blind eyes too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one seed gave: embeddings of both sets, the singular values' shares, and how well test classes separate."""

    train: Tensor
    test: Tensor
    shares: tuple[float, float]
    recall: float


def points_of(segments: Segments, generator: torch.Generator, per_class: int = 15) -> tuple[Tensor, Tensor]:
    """Return `per_class` of 100 evenly spaced points on each segment, and their classes."""
    points, labels = [], []
    for number, (start, end) in enumerate(segments):
        along = torch.linspace(0, 1, 100)[torch.randperm(100, generator=generator)[:per_class]].unsqueeze(1)
        points.append((1 - along) * torch.tensor(start) + along * torch.tensor(end))
        labels += [number] * per_class
    return torch.cat(points), torch.tensor(labels)


def train(toy: Toy, variant: Variant, *, seed: int, iterations: int = 200) -> Outcome:
    """Train one network with all triplets of every batch of 24, and look at where it puts the points."""
    generator = torch.Generator().manual_seed(seed)
    points, labels = points_of(toy.train, generator)
    test_points, test_labels = points_of(toy.test, generator)
    network = _network(seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.03, fused=True)
    loss = ContrastiveLoss(positive_margin=0.0, negative_margin=0.1, reduction="mean_all")
    for _ in range(iterations):
        rows = torch.randperm(len(points), generator=generator)[:24]
        embeddings, batch_labels = network(points[rows]), labels[rows]
        pairs = _switched_pairs(embeddings, batch_labels, variant, generator)
        optimiser.zero_grad()
        loss(embeddings, batch_labels, pairs).backward()
        optimiser.step()
    with torch.no_grad():
        on_circle = functional.normalize(network(points))
        test_on_circle = functional.normalize(network(test_points))
    first, second = torch.linalg.svdvals(on_circle).tolist()
    return Outcome(
        train=on_circle,
        test=test_on_circle,
        shares=(first / (first + second), second / (first + second)),
        recall=_nearest_is_classmate(test_on_circle, test_labels),
    )


def _network(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(2, 30), nn.ReLU(), nn.Linear(30, 30), nn.ReLU(), nn.Linear(30, 2))


def _switched_pairs(embeddings: Tensor, labels: Tensor, variant: Variant, generator: torch.Generator) -> Pairs:
    anchor, positive, negative = AllTuplesMiner()(embeddings, labels)
    # The script switches triplet by triplet; `fairground.regularisers.RhoRegulariser` does it anchor by anchor.
    is_switched = torch.rand(len(anchor), generator=generator) < variant.p_switch
    pushed = torch.where(is_switched, positive, negative)
    if variant.drop_attraction:
        return Pairs(anchor[:0], positive[:0], anchor, pushed)
    return Pairs(anchor, positive, anchor, pushed)


def _nearest_is_classmate(embeddings: Tensor, labels: Tensor) -> float:
    distances = torch.cdist(embeddings, embeddings).fill_diagonal_(torch.inf)
    return (labels[distances.argmin(1)] == labels).float().mean().item()


def study(*, seeds: int = 5, iterations: int = 200) -> dict[tuple[Toy, Variant], list[Outcome]]:
    """Train every variant of both toys with seeds 1, 2, ..."""
    return {
        (toy, variant): [train(toy, variant, seed=seed, iterations=iterations) for seed in range(1, seeds + 1)]
        for toy in TOYS
        for variant in VARIANTS
    }


def table(outcomes: Mapping[tuple[Toy, Variant], Sequence[Outcome]]) -> str:
    """Return the range over seeds of the larger singular value's share and of test recall@1, as Markdown."""
    lines = ["| toy | variant | larger singular value's share | test recall@1 |", "| --- | --- | --- | --- |"]
    for (toy, variant), each in outcomes.items():
        shares = [outcome.shares[0] for outcome in each]
        recalls = [outcome.recall for outcome in each]
        ranges = f"{min(shares):.2f} to {max(shares):.2f} | {min(recalls):.2f} to {max(recalls):.2f}"
        lines.append(f"| {toy.name} | {variant.name} | {ranges} |")
    return "\n".join(lines)


def draw(outcomes: Mapping[tuple[Toy, Variant], Sequence[Outcome]]) -> Figure:
    """Return both figures as two rows: the data, three embeddings of the first seed, and the spectra of all seeds."""
    figure = Figure(figsize=(15, 6.2), layout="constrained")
    rows = figure.subplots(len(TOYS), len(SHOWN) + 2, width_ratios=[1] * (len(SHOWN) + 1) + [1.3])
    for axes, toy in zip(rows, TOYS, strict=True):
        _draw_data(axes[0], toy)
        for axis, number in zip(axes[1:-1], SHOWN, strict=True):
            _draw_circle(axis, VARIANTS[number].name, outcomes[toy, VARIANTS[number]][0])
        _draw_spectra(axes[-1], [[each.shares[0] for each in outcomes[toy, variant]] for variant in VARIANTS])
    return figure


def _draw_data(axis: Axes, toy: Toy) -> None:
    generator = torch.Generator().manual_seed(1)
    for segments, style in ((toy.train, "o"), (toy.test, "x")):
        points, labels = points_of(segments, generator)
        for number in range(len(segments)):
            of_class = points[labels == number]
            axis.plot(of_class[:, 0], of_class[:, 1], style, color=COLOURS[number], markersize=4)
    axis.set(title=f"{toy.name}\n(o training, x test classes)", aspect="equal", xlim=(0, 1.1), ylim=(0, 1.1))


def _draw_circle(axis: Axes, name: str, outcome: Outcome) -> None:
    # Test points are drawn on a wider circle, or they would hide behind the training points.
    for embeddings, style, radius in ((outcome.train, "o", 1.0), (outcome.test, "x", 1.2)):
        for number, of_class in enumerate(torch.split(embeddings, 15)):
            axis.plot(radius * of_class[:, 0], radius * of_class[:, 1], style, color=COLOURS[number], markersize=4)
    axis.add_patch(Circle((0, 0), 1, fill=False, color="lightgrey", zorder=0))
    axis.set(title=name.replace(": ", ":\n"), aspect="equal", xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), xticks=[], yticks=[])


def _draw_spectra(axis: Axes, shares: Sequence[Sequence[float]]) -> None:
    for number, each in enumerate(shares):
        axis.plot(each, [-number] * len(each), "o", color=COLOURS[VARIANTS[number].drop_attraction], alpha=0.7)
    axis.axvline(0.5, color="grey", linewidth=0.8, linestyle=":")
    axis.set(title="larger singular value's share, each seed", xlim=(0.45, 1.0), ylim=(0.5 - len(shares), 0.5))
    axis.set_yticks([-number for number in range(len(shares))], [variant.name for variant in VARIANTS])


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print the table, and write the picture as PNG and as SVG."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("toy_compression.png"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=200)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    outcomes = study(seeds=asked.seeds, iterations=asked.iterations)
    print(table(outcomes))
    print("\n" + (__doc__ or "").partition("Finding\n")[2].partition("\n\n")[0])
    figure = draw(outcomes)
    for path in (asked.output.with_suffix(".png"), asked.output.with_suffix(".svg")):
        figure.savefig(path, dpi=80)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
