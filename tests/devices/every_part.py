"""`python -m tests.devices.every_part`: what every part does on a simulated device, beside what it does on the CPU.

Prints a JSON object: the name of each case that differs or is refused, with the reason.
"""

import copy
import inspect
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.errors import InputError
from fairground.evaluation import analyse, evaluate
from fairground.spec import find, list_room, spelled
from tests.contracts import losses, test_every_head
from tests.devices import simulated
from tests.samplers.splits import even_split

DEVICE = torch.device(simulated.NAME, 1)
Case = tuple[str, Callable[[], None]]


def moved(thing: Any) -> Any:
    """Return tensors, also those of tuples and modules, on the device."""
    if isinstance(thing, Triplets | Pairs):
        return type(thing)(*map(moved, thing))
    return copy.deepcopy(thing).to(DEVICE) if hasattr(thing, "to") else thing


def same(found: Any, wanted: Any, **tolerances: float) -> None:
    torch.testing.assert_close(found.cpu(), wanted, **({"rtol": 1e-3, "atol": 1e-4} | tolerances))


def seeded(device: Any = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(1)


def loss_cases() -> Iterator[Case]:
    embeddings, labels = losses.batch(24, dtype=torch.float32)
    for name in list_room("losses"):
        for kind in losses.tuple_kinds(losses.build(name, torch.float32)):
            tuples = None if kind is None else losses.random_tuples(kind, labels, seeded())

            def case(name: str = name, tuples: Any = tuples) -> None:
                loss = losses.build(name, torch.float32)
                there = moved(loss)
                values = []
                for each, place in ((loss, "cpu"), (there, DEVICE)):
                    leaf = embeddings.to(place).clone().requires_grad_()
                    given = tuples if place == "cpu" else moved(tuples)
                    value = each(leaf, labels.to(place), given, generator=seeded())
                    value.backward()
                    values += [value.detach(), leaf.grad]
                same(values[2], values[0])
                same(values[3], values[1])
                half = moved(embeddings).bfloat16()
                assert there(half, moved(labels), moved(tuples), generator=seeded(DEVICE)).dtype == torch.float32

            yield f"loss {name} {kind and kind.__name__}", case
    for name in ("proxy_anchor", "soft_triple"):
        yield f"labels of {name}", partial(refuses_labels, moved(losses.build(name, torch.float32)), embeddings)


def refuses_labels(loss: Any, embeddings: torch.Tensor) -> None:
    for label in (-1, losses.N_CLASSES):
        for _ in range(2):
            try:
                loss(moved(embeddings), torch.full((len(embeddings),), label).to(DEVICE))
            except (InputError, IndexError, RuntimeError):
                continue
            raise AssertionError(f"label {label} is taken")


def miner_cases() -> Iterator[Case]:
    embeddings, labels = losses.batch(24, dtype=torch.float32)
    for name in list_room("miners"):
        caps = {"per_anchor_cap": 2} if "per_anchor_cap" in inspect.signature(find("miners", name)).parameters else {}
        for settings in ({}, caps):

            def case(name: str = name, settings: Any = settings) -> None:
                miner = find("miners", name)(**settings)
                wanted = miner(embeddings, labels, generator=seeded())
                found = miner(moved(embeddings), moved(labels), generator=seeded())
                for one, other in zip(found, wanted, strict=True):
                    assert one.tolist() == other.tolist()
                assert miner(moved(embeddings), moved(labels), generator=seeded(DEVICE)).size > 0
                assert miner(moved(embeddings), moved(labels)).size > 0

            yield f"miner {name} {settings}", case


def regulariser_cases() -> Iterator[Case]:
    embeddings, labels = losses.batch(24, dtype=torch.float32)
    loss = losses.build("soft_triple", torch.float32)
    triplets = losses.random_tuples(Triplets, labels, seeded())
    for name in list_room("regularisers"):

        def case(name: str = name) -> None:
            regulariser = find("regularisers", name)()
            wanted = regulariser.penalty(embeddings, labels, loss)
            if wanted is not None:
                same(regulariser.penalty(moved(embeddings), moved(labels), moved(loss)).detach(), wanted.detach())
            changed = regulariser.change_tuples(moved(triplets), moved(labels), generator=seeded())
            wanted = regulariser.change_tuples(triplets, labels, generator=seeded())
            assert changed.anchor.tolist() == wanted.anchor.tolist()

        yield f"regulariser {name}", case


def sampler_cases() -> Iterator[Case]:
    labels = even_split(n_classes=12, size=9)
    folder = tempfile.mkdtemp()
    file = Path(folder) / "tuples.csv"
    file.write_text("".join(f"{i},{i + 1},{i + 2}\n" for i in range(80)), encoding="utf-8")
    for name in list_room("samplers"):

        def case(name: str = name) -> None:
            kind, drawn = find("samplers", name), []
            for given in (labels, moved(labels)):
                facts = {"super_labels": given % 3, "file": str(file)}
                facts = {fact: value for fact, value in facts.items() if fact in inspect.signature(kind).parameters}
                sampler = kind(labels=given, batch_size=24, **facts)
                if sampler.needs_embeddings:
                    rows = torch.randn(len(labels), 6, generator=seeded())
                    sampler.fill(rows if given is labels else moved(rows))
                    sampler.observe(torch.arange(24), rows[:24] if given is labels else moved(rows[:24]))
                drawn.append(list(sampler))
            assert drawn[0] == drawn[1]

        yield f"sampler {name}", case


def measure_cases() -> Iterator[Case]:
    draw = np.random.default_rng(0)
    labels = torch.from_numpy(draw.integers(6, size=120))
    rows = (torch.from_numpy(draw.normal(size=(6, 9)))[labels] + torch.from_numpy(draw.normal(size=(120, 9)))).float()
    groups_of, names = torch.arange(120) % 5, [spelled(name) for name in list_room("metrics")]

    def measured(normalise: bool, groups: bool) -> None:
        chosen: dict[str, Any] = {"normalise": normalise, "query_rows": torch.arange(0, 120, 3)}
        there = {"normalise": normalise, "query_rows": moved(chosen["query_rows"])}
        if groups:
            chosen, there = {"groups": groups_of}, {"groups": moved(groups_of)}
        wanted = evaluate(rows, labels, names, **chosen)
        found = evaluate(moved(rows), moved(labels), names, **there)
        assert {name: round(value, 4) for name, value in found.items()} == {
            name: round(value, 4) for name, value in wanted.items()
        }

    for normalise, groups in ((True, False), (False, False), (True, True)):
        yield f"metrics normalise={normalise} groups={groups}", partial(measured, normalise, groups)
    for name in list_room("analysis"):

        def analysed(name: str = name) -> None:
            wanted, found = (analyse(some, labels.to(some.device), [name])[name].values for some in (rows, moved(rows)))
            assert list(found) == list(wanted)
            assert np.allclose(list(found.values()), list(wanted.values()), rtol=1e-4)

        yield f"analysis {name}", analysed


def head_cases() -> Iterator[Case]:
    for name in list_room("heads"):

        def case(name: str = name) -> None:
            head, features = test_every_head.build(name), test_every_head.features(40)
            there = moved(head)
            if head.needs_labels:
                there.fit_classes(iter(torch.split(moved(features), 16)), torch.arange(40) % 8)
            elif head.needs_features:
                there.fit(iter(torch.split(moved(features), 16)))
            same(there(moved(features)).detach(), head(features).detach())

        yield f"head {name}", case


#: Metal's rules are CUDA's and one more: only what asks whether there is float64 goes by both
ROOMS = {
    "metal": (loss_cases, miner_cases, regulariser_cases, sampler_cases, measure_cases, head_cases),
    "cuda": (measure_cases, head_cases),
}


def failures() -> dict[str, str]:
    found = {}
    for rules, rooms in ROOMS.items():
        simulated.follow(rules)
        for name, case in (case for room in rooms for case in room()):
            try:
                case()
                found[f"{rules} {name}"] = ""
            except Exception as error:
                found[f"{rules} {name}"] = f"{type(error).__name__}: {error}"
    return {"": str(len(found)), **{name: reason for name, reason in found.items() if reason}}


if __name__ == "__main__":
    print(json.dumps(failures(), indent=1))
