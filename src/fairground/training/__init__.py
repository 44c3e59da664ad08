"""One run: a RunSpec in, a RunRecord out."""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
