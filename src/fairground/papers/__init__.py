"""Protocols as TOML, read by file name."""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
