"""Check data sets; get the published ones; list caches. Start with `fairground data check FOLDER`."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fairground import audit, deploy, loading, reporting, training
from fairground.commands import Answer, AnyPath, Device, Quiet, Verbatim, counted, data_overrides, options_of
from fairground.spec import DataError, data_name, declared, find, load_run, nearest, parse_overrides, require

#: unreadable files and suspects printed, and images per class next to a suspect on the page
_UNREADABLE_SHOWN, _SUSPECTS_SHOWN, _EXAMPLES = 20, 10, 4


def check(
    path: Annotated[
        Path | None, "[PATH]", "A folder of class folders, a CSV or Parquet table, or a file of features."
    ] = None,
    words: Annotated[
        Sequence[str], "[KEY=VALUE]...", "Overrides, like data.subset=true, split=mlrc_folds or split.fold=1."
    ] = (),
    dataset: Annotated[str | None, "-d", "Data set in PATH, like cub200 (default: guessed)."] = None,
    labels: Annotated[bool, "Also rank images whose labels are suspect; photographs take a network."] = False,
    page: Annotated[Path | None, "Write an HTML page with the suspect images; implies --labels."] = None,
    csv: Annotated[Path | None, "Write every finding into a table."] = None,
    clean: Annotated[
        Path | None, "--write-clean", "Write a table of the images without copies and unreadable files (.csv)."
    ] = None,
    device: Device = "auto",
    quiet: Quiet = False,
) -> Answer:
    """Read every image and look for leaks. Finds unreadable files, copies and near copies, classes shared by splits.

    --labels ranks images that are nearer to another class than to their own. Exits with 1 when train and test share
    classes, and with 0 otherwise.

    Examples: fairground data check my_photos/ · fairground data check table.csv split=listed ·
    fairground data check CUB_200_2011/ --dataset cub200 · fairground data check my_photos/ --page suspects.html
    """
    is_any = path is not None or dataset is not None
    require(is_any, "name what to check: a folder, a table, a file, or --dataset icons")
    # The first argument may be an override: `fairground data check data.n_classes=4 -d synthetic`.
    if path is not None and dataset is not None and "=" in str(path) and not path.exists():
        path, words = None, [str(path), *words]
    changes = parse_overrides(words)
    spec = load_run(overrides={**data_overrides(path, dataset), **changes})
    split = spec.split if any(key.partition(".")[0] == "split" for key in changes) else None
    with counted("looking at images", is_quiet=quiet) as tell:
        found, rows = audit.audit_in_detail(training.build("data", spec.data), split, partial(tell, ""))
        is_judged = labels or page is not None
        suspects = audit.label_suspects(rows, partial(tell, "judging labels"), device=device) if is_judged else None
    written = []
    if csv is not None:
        written.append(f"wrote {csv}: {audit.write_findings(rows, suspects or (), csv):,} findings")
    if clean is not None:
        refusal = "--write-clean lists image files; this data set has none: use --csv to see the copies"
        require(isinstance(rows.table.images, loading.ImageFiles), refusal)
        n = audit.write_clean(rows, clean)
        how = f"train on it with data=table data.path={clean}"
        written.append(f"wrote {clean}: {n:,} of {len(rows.part_of):,} images; {how}")
    if page is not None:
        refusal = "--page shows pictures; features have none: use --csv to list the suspects"
        require(rows.table.images.is_picture, refusal)
        written.append(f"wrote {_write_page(rows, suspects or (), page)}")
    kind, name = spec.data.name, data_name({"name": spec.data.name, **spec.data.settings})
    judged = [] if suspects is None else _suspect_lines(suspects, len(rows.readable))
    lines = [*_lines(found, name if name == kind else f"{name} ({kind})"), *judged, *written]
    named = None if suspects is None else [one._asdict() for one in suspects]
    failure = "\nfairground: ".join(found.failures)
    return Answer({**asdict(found), "label_suspects": named}, lines, failure, 1 if failure else 0)


def _lines(found: "audit.Audit", name: str) -> Iterator[str]:
    sizes, shapes = found.class_sizes, found.image_sizes
    noun = "items" if found.near_duplicates is None else "images"
    yield f"{name}: {found.n_images} {noun} of {found.n_classes} classes"
    for part, (images, classes) in found.parts.items():
        yield f"  {part:<12}{images:>8} {noun}{classes:>7} classes"
    spread = f"{sizes['smallest']:.0f} to {sizes['largest']:.0f}, median {sizes['median']:g}"
    yield f"  {noun} per class: {spread}; largest/smallest {sizes['ratio']:.3g}, Gini {sizes['gini']:.2f}"
    yield f"  classes of one {noun[:-1]}: {sizes['of_one_image']:.0f}"
    if shapes:
        shorter = f"shorter side {shapes['shorter_side_smallest']} or more, median {shapes['shorter_side_median']}"
        longer = f"longer side up to {shapes['longer_side_largest']}"
        yield f"  image sizes: {shorter}; {longer}; {shapes['distinct_sizes']} different"
    yield f"  unreadable: {found.unreadable}"
    for sentence in found.unreadable_examples[:_UNREADABLE_SHOWN]:
        yield f"    {sentence}"
    if found.unreadable > _UNREADABLE_SHOWN:
        yield f"    and {found.unreadable - _UNREADABLE_SHOWN} more; --json names them"
    yield from _copies("exact duplicates", found.duplicates, noun)
    if found.near_duplicates is None:
        yield "  near duplicates: not searched, features have no images"
    else:
        yield from _copies("near duplicates", found.near_duplicates, noun)
        yield f"    ({found.near_rule}; {found.too_plain} images are too plain to be judged)"
    for parts, names in found.shared_classes.items():
        yield f"  classes shared by {parts.replace(', ', ' and ')}: {len(names)}, first '{names[0]}'"
    if not found.shared_classes and len(found.parts) > 1:
        yield "  classes shared by parts: none"
    few = f"{found.n_classes} classes are too few to train: train, validation and test need a class each"
    lone = "no class has two images, so there is nothing to search for: classes need at least two images"
    notes = [*found.notes, *[few] * (found.n_classes < 3), *[lone] * (sizes["largest"] < 2)]
    yield from (f"  note: {note}" for note in notes)


def _copies(what: str, copies: "audit.Copies", noun: str) -> Iterator[str]:
    across = f"{copies.across_parts} of them across parts, {copies.across_classes} across classes"
    yield f"  {what}: {copies.images} {noun}, {across}"
    for first, second in copies.examples:
        yield f"    '{first}' and '{second}'"


def _suspect_lines(suspects: Sequence["audit.LabelSuspect"], n_images: int) -> Iterator[str]:
    yield f"  suspect labels: {len(suspects):,} of {n_images:,} images are nearer to another class than to their own"
    if weak := audit.weakness(len(suspects), n_images):
        yield f"    ({weak})"
    for one in suspects[:_SUSPECTS_SHOWN]:
        name, label, suggested = map(reporting.clean, (one.name, one.label, one.suggested))
        yield f"    '{name}' labelled '{label}', nearer to '{suggested}'"
    if len(suspects) > _SUSPECTS_SHOWN:
        yield f"    and {len(suspects) - _SUSPECTS_SHOWN:,} more: --page shows them, --csv lists all"


def _write_page(rows: "audit.AuditRows", suspects: Sequence["audit.LabelSuspect"], out: Path) -> Path:
    table, unsound = rows.table, {*(one.row for one in suspects), *rows.scans.faults}

    def shown(row: int) -> dict[str, object]:
        return {"name": rows.names[row], "picture": deploy.thumbnail(table.images, row)}

    def examples(name: str) -> dict[str, object]:
        members = (table.labels == table.class_names.index(name)).nonzero()[0].tolist()
        sound = [row for row in members if row not in unsound]
        return {"name": name, "pictures": [shown(row) for row in sound[:_EXAMPLES]]}

    some = suspects[: reporting.MOST]
    first = [shown(one.row) | {"own": examples(one.label), "suggested": examples(one.suggested)} for one in some]
    n_found, n_images = len(suspects), len(rows.readable)
    weak = audit.weakness(n_found, n_images)
    return reporting.write_suspects(first, n_found=n_found, n_images=n_images, weakness=weak, out=out)


def get_data(
    name: str,
    *,
    to: Annotated[AnyPath | None, "Folder to make of it (default: data/NAME)."] = None,
    sources: Annotated[Sequence[AnyPath], "--from", "A mirror's URL, or the file on this disk; once for each."] = (),
    subset: Annotated[bool, "Accept a part of the data set, as data.subset=true does."] = False,
    quiet: Quiet = False,
) -> Path:
    """Fetch a published data set, check it, unpack it, count it, and return its folder, which is `data.root`.

    `sources` are mirrors' URLs, or archives on this disk, one for each file. What was fetched before a broken
    connection or a kill is not fetched again. A folder that is there already is only counted.
    """
    known = f"there are {', '.join(loading.DOWNLOADS)}.{nearest(name, loading.DOWNLOADS)}"
    require(name in loading.DOWNLOADS, f"no data set '{name}' can be fetched; {known}")
    target, files = Path(to or f"data/{name}").expanduser(), loading.files_to_get(name, [str(one) for one in sources])

    def check(folder: Path) -> None:
        find("datasets", name)(root=str(folder), subset=subset).load()

    if target.exists():
        try:
            check(target)
        except DataError as error:
            raise DataError(f"{target} is there and is not {name}; remove it or name another: {error}") from error
        return target
    if not quiet:
        places = ", ".join(f"{place} ({_size(one.n_bytes)})" for one, place in files.items())
        about = f"{declared('datasets', name, 'title', name)} from {places}\nlicence: {loading.DOWNLOADS[name].licence}"
        print(f"{about}\ninto: {target.absolute()}", file=sys.stderr)
    with counted(f"getting {name}", is_quiet=quiet) as tell:
        loading.fetch_dataset(files, target, check=check, tell=tell)
    return target


@options_of(get_data)
def get_command(
    name: Annotated[str | None, "[NAME]", "cub200, cars196, sop or in_shop (default: list what can be had)."] = None,
    **settings: Any,
) -> Answer:
    """Get a published data set: fetch it, check it, unpack it, count it. Without a name, list what can be had.

    A broken or killed download continues where it stopped. Nothing stays half-unpacked.

    Examples: fairground data get · fairground data get cub200 · fairground data get sop --to /data/sop ·
    fairground data get cub200 --from CUB_200_2011.tgz
    """
    if name is not None:
        folder = get_data(name, **settings)
        protocol = f"photographs data={name}" if name == "in_shop" else f"mlrc2020-{name}"
        command = f"fairground train --protocol {protocol} data.root={shlex.quote(str(folder))}"
        command += " data.subset=true" if settings["subset"] else ""
        lines = [f"{name} is in {folder}", Verbatim(f"next: {command}")]
        return Answer({"folder": str(folder), "next": command}, lines)
    lines = []
    for key, one in loading.DOWNLOADS.items():
        lines.append(f"{key}: {declared('datasets', key, 'title', key)}; licence: {one.licence}")
        for file in (file for way in one.ways for file in way):
            sums = (("SHA-256", file.sha256), ("MD5", file.md5))
            known = next((f"{kind} {value}" for kind, value in sums if value), "checksum not known")
            about = f"{file.file}, {_size(file.n_bytes)}, {file.address or 'by --from only'}"
            lines.append(Verbatim(f"  {about}\n    {known}"))
    plain = {key: [[file._asdict() for file in way] for way in one.ways] for key, one in loading.DOWNLOADS.items()}
    return Answer(plain, lines)


def caches() -> Answer:
    """List the caches of images and features. data.prepared and training.trainable make them; longest unused first.

    A cache is a folder; delete it to remove the cache. It is rebuilt when it is next needed.

    Example: fairground data caches
    """
    found, lines = loading.list_caches(), []
    for entry in found:
        used = datetime.fromtimestamp(entry.last_used).strftime("%Y-%m-%d %H:%M")
        stages = f"side {entry.side}" if entry.side else f"{entry.n_frozen} frozen stages of {entry.trunk}"
        what = f"{entry.n_images:,} images, {stages}" if entry.is_complete else "not finished"
        lines.append(f"{_size(entry.n_bytes):>9}  last used {used}  {what}  {entry.source}".rstrip())
        lines.append(f"           {loading.cache_root(entry.kind) / entry.key}")
    total = sum(entry.n_bytes for entry in found)
    lines.append(f"{len(found)} caches, {_size(total)}" if found else "no caches")
    return Answer({"caches": [asdict(entry) for entry in found]}, lines)


def _size(n_bytes: int) -> str:
    known = f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.1f} MB"
    return known if n_bytes else "size not known"


COMMANDS = {"check": check, "get": get_command, "caches": caches}
