"""What is wrong with a data set."""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
