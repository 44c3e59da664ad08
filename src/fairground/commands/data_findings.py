"""What `fairground data check` found, written where the user said: tables, and a page of suspect images."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairground.commands.terminal import print_fitted
from fairground.errors import require

if TYPE_CHECKING:
    import numpy as np

    from fairground.audit.copies import AuditRows
    from fairground.audit.label_errors import LabelSuspect
    from fairground.contracts.table import Dataset, ImageTable
    from fairground.reporting.picture_pages import ClassExamples, Shown

#: suspects printed in a terminal
_SHOWN = 10
#: pictures of a class next to a suspect
_EXAMPLES = 4


def write_asked(
    dataset: "Dataset",
    table: "ImageTable",
    rows: "AuditRows",
    suspects: Sequence["LabelSuspect"],
    *,
    page: Path | None,
    csv: Path | None,
    clean: Path | None,
) -> list[str]:
    """Write the files that were asked for and return a sentence about each."""
    from fairground.audit.audit import write_clean, write_findings
    from fairground.loading.image_dataset import PhotoDataset

    said = []
    if csv is not None:
        said.append(f"wrote {csv}: {write_findings(rows, suspects, csv):,} findings")
    if clean is not None:
        require(
            isinstance(dataset, PhotoDataset),
            "--write-clean lists image files; this data set has none: use --csv to see the copies",
        )
        assert isinstance(dataset, PhotoDataset)
        n = write_clean(rows, dataset.photos(), clean)
        said.append(
            f"wrote {clean}: {n:,} of {len(rows.labels):,} images; train on it with data=table data.path={clean}"
        )
    if page is not None:
        require(table.images.is_picture, "--page shows pictures; features have none: use --csv to list the suspects")
        said.append(f"wrote {_write_page(table, rows, suspects, page)}")
    return said


def print_suspects(suspects: Sequence["LabelSuspect"] | None, n_images: int) -> None:
    """Print the first suspects, where labels were judged."""
    from fairground.audit.label_errors import weakness
    from fairground.reporting.headings import clean

    if suspects is None:
        return
    print_fitted(
        f"  suspect labels: {len(suspects):,} of {n_images:,} images lie nearer to another class than to their own"
    )
    if weak := weakness(len(suspects), n_images):
        print_fitted(f"    ({weak})")
    for one in suspects[:_SHOWN]:
        print_fitted(f"    '{clean(one.name)}' labelled '{clean(one.label)}', nearer to '{clean(one.suggested)}'")
    if len(suspects) > _SHOWN:
        print_fitted(
            f"    and {len(suspects) - _SHOWN:,} more, less and less suspect: --page shows them, --csv lists all"
        )


def print_written(said: Sequence[str]) -> None:
    """Print which files were written."""
    for sentence in said:
        print_fitted(sentence)


def _write_page(table: "ImageTable", rows: "AuditRows", suspects: Sequence["LabelSuspect"], out: Path) -> Path:
    import numpy as np

    from fairground.audit.label_errors import weakness
    from fairground.reporting.picture_pages import MOST, ShownSuspect, write_suspects

    is_suspect = np.zeros(len(table.labels), bool)
    is_suspect[[one.row for one in suspects]] = True
    is_suspect[list(rows.scans.faults)] = True
    shown = [
        ShownSuspect(
            name=one.name,
            picture=_picture(table, one.row).picture,
            own=_examples(table, one.label, ~is_suspect),
            suggested=_examples(table, one.suggested, ~is_suspect),
        )
        for one in suspects[:MOST]
    ]
    n_images = len(table.labels) - len(rows.scans.faults)
    weak = weakness(len(suspects), n_images)
    return write_suspects(shown, n_found=len(suspects), n_images=n_images, weakness=weak, out=out)


def _examples(table: "ImageTable", name: str, is_sound: "np.ndarray") -> "ClassExamples":
    import numpy as np

    from fairground.reporting.picture_pages import ClassExamples

    rows = np.flatnonzero((table.labels == table.class_names.index(name)) & is_sound)[:_EXAMPLES]
    return ClassExamples(name=name, pictures=tuple(_picture(table, int(row)) for row in rows))


def _picture(table: "ImageTable", row: int) -> "Shown":
    from fairground.deploy.thumbnails import thumbnail
    from fairground.reporting.picture_pages import Shown

    name = f"row {row}" if table.identifiers is None else table.identifiers[row]
    return Shown(name=name, picture=thumbnail(table.images, row))
