"""Ready-made weights: list what each trunk can load and whether it is here; check a file. Nothing is downloaded."""

from pathlib import Path
from typing import Annotated

from fairground.commands import Answer, Verbatim


def list_weights() -> Answer:
    """List the published weights of every trunk. Where to get them, their SHA-256, and whether they are here.

    Nothing is downloaded: get the file by the address shown and put it into the folder the list ends with.
    The word `list` may be omitted.

    Examples: fairground weights · fairground weights list
    """
    from fairground.trunks._pretrained_weights import known_weights, weights_folder

    found = known_weights()
    lines = []
    for one in found:
        here, begins = f"here: {one.path}" if one.path else "not here", "begins with " * (len(one.sha256) < 64)
        lines.append(Verbatim(f"{one.trunk}: {one.file}  {here}\n  SHA-256 {begins}{one.sha256}\n  from {one.address}"))
    lines.append(Verbatim(f"folder: {weights_folder()}"))
    return Answer({"folder": str(weights_folder()), "weights": [one._asdict() for one in found]}, lines)


def check(file: Annotated[Path, "FILE", "A file of weights."]) -> Answer:
    """Check a file of weights. Whether it is a published one, by its SHA-256, and which trunks it fits.

    Ends with 0 when a trunk can load it and 2 when none can, or when it is not the file its name says.

    Example: fairground weights check resnet50-0676ba61.pth
    """
    from fairground.trunks._pretrained_weights import check_weights

    found = check_weights(file.expanduser())
    lines = [Verbatim(found.sentence), Verbatim(f"SHA-256 {found.sha256}")]
    return Answer(found._asdict(), lines, exit_code=0 if found.is_right else 2)


COMMANDS = {"list": list_weights, "check": check}
