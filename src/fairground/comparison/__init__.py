"""May runs share a table, and what can be said of them: plain data, no torch."""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
