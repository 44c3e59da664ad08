"""A trained model put to use: exported, embedding, indexed and searched. One floor above training."""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
