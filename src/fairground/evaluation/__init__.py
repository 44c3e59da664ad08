"""From embeddings to numbers. No file is called `evaluate`, which would hide the function of that name."""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
