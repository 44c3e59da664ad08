"""What every data set is: settings in, an image table out."""

from abc import ABC, abstractmethod

from fairground.contracts.table import ImageTable


class Dataset(ABC):
    """Knows where its images are. The constructor checks settings; `load` reads."""

    def version(self) -> tuple[str | int, ...] | None:
        """Return what changes whenever `load` would give something else; None where only loading can tell."""
        return None

    @abstractmethod
    def load(self) -> ImageTable:
        """Return the whole data set."""
