"""The declaration card of a run: everything that decides whether its numbers are comparable, in plain language."""

from collections.abc import Mapping

from fairground import spec as specs
from fairground.spec import PAPER_OF, UNSAID, Value, flatten, list_names, load_run, presets, protocol_names, to_plain
from fairground.spec.run_spec import ComponentSpec, OptimiserSpec, RunSpec

#: the heading of the differences between text and released code of a part; all other parts are the protocol's
_HEADINGS: Mapping[str, str] = {"loss": "text or code", "miner": "text or code", "sampler": "text or code, batches"}
_BATCH_NORM: Mapping[str, str] = {
    "none": "learns its statistics and weights",
    "stats": "statistics frozen, weights learnt",
    "stats_and_affine": "statistics and weights frozen",
}
_NORMALISE: Mapping[bool | None, str] = {
    None: "as the loss trains them: unit length, or raw where the loss compares raw outputs",
    True: "unit length",
    False: "raw",
}
_LONE: Mapping[str, str] = {"drop": "left out", "zero": "counted as misses"}


def card_of(spec: RunSpec) -> dict[str, str]:
    """Return the declaration card of a run, with what it changes in its protocol."""
    card = declaration(spec)
    if spec.protocol in protocol_names():
        changed = changes(spec, load_run(protocol=spec.protocol, unsaid=UNSAID), unsaid=UNSAID)
        words = "; ".join(f"{key} {change}" for key, change in changed.items())
        card |= {"changed in the protocol": words} if words else {}
        card |= paper_settings(spec)
    return card


def changes(spec: RunSpec, protocol: RunSpec, *, unsaid: str) -> dict[str, str]:
    """Return what a run changes in its protocol, by dotted setting, each as `ours (protocol: theirs)`.

    Of a part that is another component than the protocol's, its name and what both take are compared. What the
    protocol leaves to the user, `unsaid`, is no change.
    """
    ours, theirs = flatten(to_plain(spec)), flatten(to_plain(protocol))
    changed = [key for key in ours if theirs.get(key, ours[key]) not in (ours[key], unsaid)]
    return {key: f"{ours[key]} (protocol: {theirs[key]})" for key in changed}


def declaration(spec: RunSpec) -> dict[str, str]:
    """Return the card, heading by heading; nothing that decides a result is left out."""
    optimiser, training, evaluation = spec.optimiser, spec.training, spec.evaluation
    length = f"{training.batches_per_epoch} batches" if training.batches_per_epoch else "one pass over the data"
    stops = f"; stops after {training.patience + 1} epochs without a better {evaluation.select_by}"
    patience = stops if training.patience else ""
    chunks = f", gradients cached over chunks of {training.gradient_chunk}" if training.gradient_chunk else ""
    axes = evaluation.principal_axes
    seen_on = f"on {axes} principal axes of the EVALUATED IMAGES, labels unseen; " if axes else ""
    stages = training.trainable.partition(":")[2]
    some = "only its last stage trains" if stages == "1" else f"only its last {stages} stages train"
    views = f"{training.views} augmented views of each image kept" if training.views else "augmented anew in each step"
    trains = f"; {some if stages else 'none of it trains'}, {views}" if training.trainable != "all" else ""
    often = "every epoch" if training.validate_every == 1 else f"every {training.validate_every} epochs"
    where = "TEST SPLIT" if evaluation.select_on == "test" else "validation split"
    selected = f"best {evaluation.select_by} on the {where}, looked at {often}"
    if evaluation.report == "best_of_each":
        selected = f"{where}, looked at {often}; each metric is reported at its own best epoch"
    test = "sealed until the model is selected, then opened once" if evaluation.test else "never opened"
    if evaluation.select_on == "test":
        test = "OPEN FROM THE START: it selects, so its scores are too high by an unknown amount"
    elif evaluation.watch_test:
        test = "WATCHED: measured whenever validation is, its scores kept; it selects nothing"
    return {
        "protocol": spec.protocol,
        "data": _part(spec.data),
        "split": _part(spec.split),
        "preprocessing": _part(spec.transform),
        "network": _part(spec.trunk) + trains,
        "batch norm": _BATCH_NORM[training.freeze_batch_norm],
        "head": _part(spec.head),
        "loss": _part(spec.loss),
        "miner": _part(spec.miner),
        "regulariser": _part(spec.regulariser),
        "batches": f"{training.batch_size} images; {_part(spec.sampler)}",
        "optimiser": _optimiser(optimiser),
        "length": f"up to {training.epochs} epochs of {length}{patience}" if training.epochs else "not trained",
        "arithmetic": f"{training.precision} precision{', compiled' if training.compile else ''}{chunks}"
        + ", deterministic on every device" * training.deterministic,
        "selection": selected,
        "metrics": ", ".join(evaluation.metrics)
        + f"; relevance by {evaluation.relevance}" * (evaluation.relevance != "label"),
        "analyses of the training split": ", ".join(evaluation.analyses) or "none",
        "embeddings when measured": f"{seen_on}{_NORMALISE[evaluation.normalise]}"
        + "; raw ones by the distance in a Poincaré ball" * (evaluation.distance == "poincare")
        + f"; queries without a classmate are {_LONE[evaluation.lone]}",
        "test split": test,
        "seed": str(spec.seed),
    }


def _optimiser(optimiser: OptimiserSpec) -> str:
    rates = {"trunk": optimiser.lr, "head": optimiser.head_lr, "loss": optimiser.loss_lr}
    listed = ", ".join(f"{name} {rate:g}" for name, rate in rates.items() if rate is not None)
    momentum = f", momentum {optimiser.momentum:g}" if optimiser.momentum else ""
    steps = f"rates times {optimiser.step_factor:g} every {_epochs(optimiser.step_epochs)}"
    frozen = optimiser.frozen_trunk_epochs
    parts = [
        f"{optimiser.name}, rates: {listed}{momentum}",
        f"weight decay {optimiser.weight_decay:g}, of the loss' own weights {optimiser.loss_weight_decay:g}",
        f"rates rise linearly over {_epochs(optimiser.warmup_epochs)}" if optimiser.warmup_epochs else "",
        {"constant": "", "cosine": "rates fall to 0 by a cosine", "step": steps}[optimiser.schedule],
        f"trunk frozen for the first {_epochs(frozen)}" if frozen else "",
        f"gradient clipped to norm {optimiser.clip_norm:g}" if optimiser.clip_norm else "",
        f"weights averaged with decay {optimiser.average:g}" if optimiser.average else "",
    ]
    return "; ".join(filter(None, parts))


def _epochs(n: float) -> str:
    return f"{n:g} epoch{'' if n == 1 else 's'}"


def _part(part: ComponentSpec | None) -> str:
    if part is None:
        return "none"
    settings = ", ".join(f"{key} {_shown(value)}" for key, value in part.settings.items())
    return f"{part.name} ({settings})" if settings else part.name


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value) or '""'


def paper_settings(spec: RunSpec) -> dict[str, str]:
    """Return the lines for the card of a run under a paper's protocol; nothing for other runs."""
    paper, _, data = spec.protocol.partition("-")
    prefix, loss = next((key for key, value in PAPER_OF.items() if value == paper), None), spec.loss.name
    if prefix is None or spec.training.epochs == 0 or loss not in list_names("losses"):
        return {}
    known = {name: settings for name, settings in presets(loss).items() if name.startswith(prefix)}
    if not known:
        return {"settings of the loss": f"not the paper's: {paper} does not have {loss}", **_text_or_code(spec)}
    # The data set's own preset comes first, then the shortest name: the plainest of those that are the same.
    names = sorted(known, key=lambda name: (not name.removesuffix("-text").endswith(data), len(name)))
    found = next((name for name in names if _has(spec, name, known[name])), None)
    own = f"those of the paper: loss={loss}@{found}" if found else f"NOT the paper's: write loss={loss}@{names[0]}"
    for name in known if found else ():
        # The same preset in the other reading of the paper.
        is_text, is_code = name == f"{found}-text", name != found and name.replace("as-run-", "") == found
        if (is_text or is_code) and not _has(spec, name, known[name]):
            own += f"; {'as its text has them' if is_text else 'the released code as run'}: loss={loss}@{name}"
    no_difference = {"text or code": "no difference is known between text and released code for this loss"}
    return {"settings of the loss": own, **no_difference, **_text_or_code(spec)}


def _text_or_code(spec: RunSpec) -> dict[str, str]:
    """Return which of text and released code a run follows, setting by setting, where the two differ."""
    kinds = ("as the released code", "as the text", "as neither", "also different")
    lines: dict[str, dict[str, list[str]]] = {}
    for row in specs.differences(spec):
        found = lines.setdefault(_HEADINGS.get(row.part, "text or code, protocol"), {kind: [] for kind in kinds})
        if not row.setting:
            found[kinds[3]].append(f"{row.erratum} (text: {row.text}; code: {row.code})")
            continue
        ours, code = spec.value_of(row.setting), row.value("code")
        text = row.value("text") if row.text else "does not say"
        kind = 0 if ours == code else 1 if row.text and ours == text else 2
        others = [f"text: {_shown(text)}"] * (kind != 1) + [f"code: {_shown(code)}"] * (kind != 0)
        found[kinds[kind]].append(f"{row.setting} {_shown(ours)} ({', '.join([*others, row.erratum])})")
    return {
        heading: "; ".join(f"{kind}: {', '.join(said)}" for kind, said in found.items() if said)
        for heading, found in lines.items()
    }


def _has(spec: RunSpec, preset: str, settings: Mapping[str, object]) -> bool:
    """Tell whether a run has everything that a preset sets, under its own protocol."""
    theirs = load_run(protocol=spec.protocol, overrides={"loss": f"{spec.loss.name}@{preset}"}, unsaid="")
    ours, wanted = flatten(to_plain(spec)), flatten(to_plain(theirs))
    compared = [key for key in wanted if key in settings or (key.startswith("loss.") and key in ours)]
    return all(ours.get(key) == wanted[key] for key in compared)
