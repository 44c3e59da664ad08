"""Does every part learn? Hundreds of steps on the embedded icons with each loss, miner, sampler and regulariser."""

import sys
import tempfile
from collections.abc import Iterator, Mapping

from benchmarks.harness import Table
from fairground.records import RunRecord, Store
from fairground.spec import RunSpec, list_room, load_run, name_of, parse_overrides
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.scheduler import JOB, Scheduler

#: a small network and a short run: the question is whether it learns, not how well
SETTING = ("trunk.widths=[8, 16, 32, 64]", "training.epochs=4", "training.batches_per_epoch=50")
#: what a part needs beside its own name to be itself
COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "miner=multi_similarity": ("loss=multi_similarity",),
    "regulariser=rho": ("loss=triplet", "miner=distance_weighted", "regulariser.p_switch=0.1"),
    "miner=rho_distance": ("miner.p_switch=0.1",),
    "regulariser=soft_triple_centres": ("loss=soft_triple", "loss.reg_weight=0.0"),
    "regulariser=manifold_mixup": ("loss=triplet",),
    "loss=self_distillation": ("head=self_distilled",),
}
WITH_CLASS_WEIGHTS = "optimiser.loss_lr=0.01"


def tables() -> Iterator[Table]:
    """Yield one table a room."""
    for room, key in (
        ("losses", "loss"),
        ("miners", "miner"),
        ("samplers", "sampler"),
        ("regularisers", "regulariser"),
    ):
        yield _table(
            room, {name: _spec(key, name) for name in list_room(room) if name not in ("fixed_tuples", "hierarchical")}
        )


def _spec(key: str, name: str) -> RunSpec:
    words = [f"{key}={name}", *COMPANIONS.get(f"{key}={name}", ())]
    if key == "miner" and not any(word.startswith("loss=") for word in words):
        words.append("loss=triplet")
    if key == "loss":
        words.append(WITH_CLASS_WEIGHTS)
    return load_run(overrides=parse_overrides([*words, *SETTING]))


def _table(room: str, specs: Mapping[str, RunSpec]) -> Table:
    names = {name_of(spec): name for name, spec in specs.items()}
    rows = []
    with tempfile.TemporaryDirectory() as home, ProcessExecutor(JOB, workers=2) as executor:

        def on_record(record: RunRecord) -> None:
            rows.append(_row(names[record.name], record))
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)

        Scheduler(store=Store(home), executor=executor, on_record=on_record).run_specs(list(specs.values()))
    steps = SETTING[1:]
    return Table(
        title=f"Every part of {room} learns",
        note=f"Embedded icons, protocol `laptop` with {', '.join(SETTING[:1])}, {' and '.join(steps)}; the rest as the "
        "part's defaults. Validation MAP@R on unseen classes of the untrained and of the selected network.",
        header=[room, "loss, first epoch", "loss, last epoch", "MAP@R untrained", "MAP@R trained", "learns"],
        rows=sorted(rows),
    )


def _row(name: str, record: RunRecord) -> list[str]:
    if record.state != "done":
        return [name, "", "", "", "", f"{record.state}: {record.failure}"]
    losses = [row.loss for row in record.epochs if row.loss is not None]
    before, after = record.epochs[0].validation["map@r"], record.score("map@r", "validation") or 0.0
    is_lower, is_better = losses[-1] < losses[0], after > before
    verdict = "yes" if is_lower and is_better else ("better, loss not lower" if is_better else "NO")
    return [name, f"{losses[0]:.4f}", f"{losses[-1]:.4f}", f"{before:.4f}", f"{after:.4f}", verdict]
