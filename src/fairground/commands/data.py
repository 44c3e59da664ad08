"""`fairground data check`: what is wrong with a data set, before anything is trained on it."""

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.caches import caches
from fairground.commands.options import AsJson, Quiet
from fairground.commands.terminal import print_fitted

if TYPE_CHECKING:
    from fairground.audit.audit import Audit
    from fairground.audit.copies import Copies
    from fairground.spec.run import ComponentSpec

#: how many files that cannot be read are named
_SHOWN = 20

app = typer.Typer(
    help="Look after data sets. Start with `fairground data check FOLDER`.", no_args_is_help=True, rich_markup_mode=None
)


app.command("caches")(caches)


@app.callback()
def data() -> None:
    """Look after data sets. Start with `fairground data check FOLDER`."""


@app.command("check")
def check(
    path: Annotated[
        Path | None,
        typer.Argument(help="A folder of class folders, a CSV or Parquet table, or a file of features."),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Settings, like data.subset=true, split=mlrc_folds or split.fold=1.", metavar="[KEY=VALUE]..."
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="Which data set PATH is, like cub200; guessed if left out.")
    ] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="Also rank images whose labels are suspect; photographs take a network.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write an HTML page with the suspect images; implies --labels.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write every finding into a table.")] = None,
    clean: Annotated[
        Path | None,
        typer.Option("--write-clean", help="Write a table of the images without copies and unreadable files (.csv)."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read every image and look for leaks: unreadable files, copies and near copies, classes shared by splits.

    --labels ranks images that lie nearer to another class than to their own. Ends with 1 and a loud sentence when train
    and test share classes; with 0 otherwise, whatever else was found.

    Examples: fairground data check my_photos/ · fairground data check table.csv split=listed ·
    fairground data check CUB_200_2011/ --dataset cub200 · fairground data check my_photos/ --page suspects.html
    """
    asked, split = _parts(path, words or [], dataset)
    from fairground.audit.audit import audit_in_detail
    from fairground.audit.label_suspects import label_suspects, readable_table
    from fairground.commands.data_findings import print_suspects, print_written, write_asked
    from fairground.commands.progress import counted
    from fairground.spec.identity import data_name
    from fairground.training.build import build_dataset

    opened = build_dataset(asked)
    with counted("looking at images", is_quiet=quiet) as tell:
        found, rows = audit_in_detail(opened, split, lambda done, of: tell("", done, of))
        table, readable = readable_table(opened, list(rows.faults))
        suspects = None
        if labels or page is not None:
            suspects = label_suspects(table, readable, lambda done, of: tell("judging labels", done, of))
    written = write_asked(opened, table, rows, suspects or (), page=page, csv=csv, clean=clean)
    if as_json:
        named = None if suspects is None else [dataclasses.asdict(one) for one in suspects]
        print(json.dumps({**dataclasses.asdict(found), "label_suspects": named}))
    else:
        name = data_name({"name": asked.name, **asked.settings})
        _print(found, name if name == asked.name else f"{name} ({asked.name})")
        print_suspects(suspects, len(readable))
        print_written(written)
    for failure in found.failures:
        print(f"fairground: {failure}", file=sys.stderr)
    if found.failures:
        raise typer.Exit(1)


def _parts(path: Path | None, words: list[str], dataset: str | None) -> tuple["ComponentSpec", "ComponentSpec | None"]:
    """Return the data set meant, and the split if one is named."""
    from fairground.commands.data_words import data_words
    from fairground.errors import require
    from fairground.spec.load import load_run

    require(path is not None or dataset is not None, "say what to check: a folder, a table, a file, or --dataset icons")
    # The first word may be a setting: `fairground data check data.n_classes=4 -d synthetic`.
    if path is not None and dataset is not None and "=" in str(path) and not path.exists():
        path, words = None, [str(path), *words]
    spec = load_run(overrides=[*data_words(path, dataset), *words])
    names_split = any(word.partition("=")[0].partition(".")[0].strip() == "split" for word in words)
    return spec.data, spec.split if names_split else None


def _print(found: "Audit", name: str) -> None:
    sizes = found.class_sizes
    print_fitted(f"{name}: {found.n_images} images of {found.n_classes} classes")
    for part, (images, classes) in found.parts.items():
        print_fitted(f"  {part:<12}{images:>8} images{classes:>7} classes")
    print_fitted(
        f"  images a class: {sizes['smallest']:.0f} to {sizes['largest']:.0f}, median {sizes['median']:g}; "
        f"largest/smallest {sizes['ratio']:.3g}, Gini {sizes['gini']:.2f}"
    )
    print_fitted(f"  classes of one image: {sizes['of_one_image']:.0f}")
    if found.image_sizes:
        shapes = found.image_sizes
        print_fitted(
            f"  image sizes: shorter side {shapes['shorter_side_smallest']} or more, median "
            f"{shapes['shorter_side_median']}; longer side up to {shapes['longer_side_largest']}; "
            f"{shapes['distinct_sizes']} different"
        )
    print_fitted(f"  unreadable: {found.unreadable}")
    for sentence in found.unreadable_examples[:_SHOWN]:
        print_fitted(f"    {sentence}")
    if found.unreadable > _SHOWN:
        print_fitted(f"    and {found.unreadable - _SHOWN} more; --json names them")
    _print_copies("exact duplicates", found.duplicates)
    if found.near_duplicates is None:
        print_fitted("  near duplicates: not looked for, there is nothing to look at")
    else:
        _print_copies("near duplicates", found.near_duplicates)
        print_fitted(f"    ({found.near_rule}; {found.too_plain} images are too plain to be judged)")
    for parts, names in found.shared_classes.items():
        print_fitted(f"  classes shared by {parts.replace(', ', ' and ')}: {len(names)}, first '{names[0]}'")
    if not found.shared_classes and len(found.parts) > 1:
        print_fitted("  classes shared by parts: none")
    for note in (*found.notes, *_obstacles(found)):
        print_fitted(f"  note: {note}")


def _obstacles(found: "Audit") -> Iterator[str]:
    """Yield what will keep anything from being trained or measured on these classes."""
    if found.n_classes < 3:
        yield f"{found.n_classes} classes are too few to train: train, validation and test need a class each"
    if found.class_sizes["largest"] < 2:
        yield "no class has two images, so there is nothing to search for: give classes two images at least"


def _print_copies(what: str, copies: "Copies") -> None:
    print_fitted(
        f"  {what}: {copies.images} images, {copies.across_parts} of them across parts, "
        f"{copies.across_classes} across classes"
    )
    for first, second in copies.examples:
        print_fitted(f"    '{first}' and '{second}'")
