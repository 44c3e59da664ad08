"""Miners, one file each; `from fairground.miners import ...` finds the class by its file."""

from fairground.spec.catalogue import lazy_room

__getattr__, __dir__, __all__ = lazy_room(__name__)
