"""Ready-made weights as somebody published them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PublishedWeights:
    """A file of weights as published: its name, its SHA-256 or the beginning of it, and where to get it.

    `package` names the installed package that carries the file, and the folder within, where there is one.
    """

    file: str
    sha256: str
    address: str
    package: str = ""
