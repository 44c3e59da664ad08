"""Results as tables, figures, sentences and pages: plain data, no torch."""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
