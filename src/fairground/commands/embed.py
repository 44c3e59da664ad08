"""`fairground embed MODEL DATA -o FILE` embeds pictures or features with a trained model."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fairground import deploy
from fairground.commands import HOME, Answer, DataError, Device, Home, Quiet, counted

MODEL_HELP = "A run's or a recommendation's name (or enough of it), or a folder that `fairground export` wrote."
DATA_HELP = "A folder of images (class folders or loose), a table, one image, a file of features, or `icons`."
SkipUnreadable = Annotated[
    bool,
    "--skip-unreadable",
    "Leave out pictures that cannot be read, and name them in what is written. Decodes every picture twice.",
]


def embed(
    model: Annotated[str, "MODEL", MODEL_HELP],
    data: Annotated[str, "DATA", DATA_HELP],
    out: Annotated[Path, "--output", "-o", "An .npz file, or an .npy file with a .json beside it."],
    raw: Annotated[bool, "As the network gives them, not scaled to length one."] = False,
    skip_unreadable: SkipUnreadable = False,
    home: Home = HOME,
    device: Device = "auto",
    quiet: Quiet = False,
) -> Answer:
    """Embed pictures or features in order, with their files and, where known, their classes.

    Memory stays small whatever the number of images. Pictures that cannot be read are refused with a list, or left out
    and named with --skip-unreadable.

    Example: fairground embed my_model my_photos -o embeddings.npz
    """
    opened = deploy.open_model(model, home=home, measured=False, device=device)
    with readable_inputs(data, "embedding", is_quiet=quiet, skip_unreadable=skip_unreadable) as (inputs, tell):
        deploy.embed_to_file(opened, inputs, out, raw=raw, tell=lambda done, of: tell("embedding", done, of))
    width = opened.metadata.embedding_dim
    known = "" if inputs.labels is None else f" of {len(set(inputs.labels.tolist()))} classes"
    found = {"file": str(out), "n": len(inputs), "embedding_dim": width}
    more = {"has_labels": inputs.labels is not None, "left_out": list(inputs.left_out)}
    return Answer({**found, **more}, [f"wrote {out}: {len(inputs):,} embeddings of {width} numbers{known}"])


@contextmanager
def readable_inputs(
    data: str, title: str, *, is_quiet: bool, skip_unreadable: bool
) -> Iterator[tuple["deploy.EmbeddingInputs", Callable[[str, int, int], None]]]:
    """Yield what is to be embedded and a progress function; unreadable images are left out, or refused all together."""
    inputs = deploy.read_inputs(data)
    with counted(title, is_quiet=is_quiet) as tell:

        def faults() -> dict[str, str]:
            return deploy.unreadable(inputs, lambda done, of: tell("looking for unreadable pictures", done, of))

        if skip_unreadable and (found := faults()):
            inputs = deploy.without(inputs, found)
            print(f"left out: {deploy.listed(found)}", file=sys.stderr)
        try:
            yield inputs, tell
        except DataError as error:
            if not (found := faults()):
                raise
            which = f"of {len(inputs)} pictures {deploy.listed(found)}"
            raise DataError(f"{which}\nMove them away, or pass --skip-unreadable.") from error
