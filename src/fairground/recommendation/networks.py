"""Which pretrained network, and which side of its images: the best on a sample of frozen features.

Every network whose weights are on this machine and every side are candidates, in the order of what is known: large
images first, then larger networks. Nothing is trained, so all classes to learn from judge: each image of the sample
searches the others. A side is left out if the images that have to go through the network would take too much of the
time.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from fairground.evaluation import evaluate_in_detail
from fairground.recommendation.methods import Method, Network, plain
from fairground.recommendation.request import FIRST, SIDES, Request
from fairground.recommendation.time_budget import Budget
from fairground.training import Workbench, view_of_rows
from fairground.trunks._pretrained_weights import known_weights

#: images of the sample, images of each class that it needs, and images whose time is measured first
SAMPLE, LEAST_PER_CLASS, TIMED = 300, 4, 32
#: how often test images go through the network, for the frozen one and for one whose last stages are trained
TEST_PASSES = 1.35
#: of the time, what all images that have to be embedded may take
MOST_EMBEDDING = 0.45
#: a cheaper side this close by rank is preferred
CLOSE = 0.005


def available_trunks() -> list[str]:
    """Return the networks whose published weights are on this machine, that of the protocol first."""
    found = dict.fromkeys(known.trunk for known in known_weights() if known.path)
    return sorted(found, key=lambda trunk: trunk != FIRST)


def candidates(request: Request) -> list[Network]:
    """Return the networks to choose from, the most promising first; what the user set is not chosen again."""
    asked = {key.partition(".")[0] for key in request.base}
    native = max(32, round(request.shorter_side / 32) * 32)
    sides = [0] if "transform" in asked else sorted({*SIDES, *([native] if native < max(SIDES) else [])}, reverse=True)
    trunks = [""] if "trunk" in asked else available_trunks() or [FIRST]
    first = [request.published(trunks[0], side) for side in sides]
    return [*first, *(request.published(trunk, sides[0]) for trunk in trunks[1:])]


def joined_networks(request: Request, network: Network) -> Method | None:
    """Return all EfficientNet-Lites side by side on the images that one network sees; none of fewer than two.

    Where the user set the trunk, or asked for networks from scratch, there are none.
    """
    names = [trunk for trunk in available_trunks() if trunk.startswith("efficientnet_lite")]
    if len(names) < 2 or "trunk" not in network.overrides or request.protocol == "laptop":
        return None
    joined = {"trunk": "joined", "trunk.networks": "+".join(names), "trunk.weights": "imagenet"}
    name = network.name.replace(str(network.overrides["trunk"]), joined["trunk.networks"])
    return plain("joined networks", replace(network, name=name, overrides={**network.overrides, **joined}))


@torch.no_grad()
def seconds_per_image(bench: Workbench, rows: np.ndarray, budget: Budget) -> float:
    """Return how long one of these images takes through the network; 0 where the first cannot be read."""
    # What is computed for the first time takes longer.
    some = bench.embed(rows[:TIMED])
    if not len(some):
        return 0.0
    begun = budget.used()
    # An accelerator is waited for.
    bench.trunk(bench.transform.evaluate(bench.table.images, some, bench.device)).cpu()
    return (budget.used() - begun) / len(some)


def choose_network(
    request: Request, budget: Budget, device: torch.device, say: Callable[[str], None], tell: Callable[[str], None]
) -> Network:
    """Return the network and side that suit the images best."""
    networks = candidates(request)
    if len(networks) == 1:
        say(f"The network is {networks[0].name}, as you asked.")
        return networks[0]
    found: dict[str, float] = {}
    cost: dict[str, float] = {}
    most = MOST_EMBEDDING * budget.seconds
    for network in networks:
        is_other = network.overrides.get("trunk") != networks[0].overrides.get("trunk")
        if (found or is_other) and budget.left("network") <= 0:
            break
        tell(f"trying {network.name}")
        bench = Workbench(request.frozen(network).spec(request.base, request.seed).run, device=device)
        n_classes = len(np.unique(bench.table.labels[bench.seen]))
        rows = bench.seen[: max(SAMPLE, LEAST_PER_CLASS * n_classes)]
        # What is computed for the first time takes longer.
        bench.embed(rows[:TIMED])
        begun = budget.used()
        bench.embed(rows[: 2 * TIMED])
        cost[network.name] = (budget.used() - begun) / TIMED * (len(bench.seen) + TEST_PASSES * bench.n_test)
        if cost[network.name] > most:
            tell(f"{network.name} is left out: too slow for the time")
            continue
        done = bench.embed(rows, is_time=lambda: not found or budget.left("network") > 0)
        if found and len(done) < len(rows):
            break
        embeddings = bench.features.evaluate(bench.table.images, done)
        view = view_of_rows(bench.table, embeddings, done, normalise=True)
        found[network.name] = request.rank(evaluate_in_detail(view, request.deciding).scores)
    # The cheapest of those that are as good as the best; of all where each is too slow.
    best = max(found.values(), default=0.0)
    close = [one for one in networks if one.name in cost and found.get(one.name, 0.0) >= best - CLOSE]
    chosen = min(close, key=lambda one: cost[one.name])
    listed = ", ".join(f"{name} {100 * score:.1f}" for name, score in found.items())
    how = f"mean of {' and '.join(request.deciding)} of frozen features on a sample, in per cent: {listed}"
    say(f"The network is {chosen.name} ({how if found else 'the fastest: all are slow for the time'}).")
    return chosen
