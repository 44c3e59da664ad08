"""Samplers, one file each; `from fairground.samplers import ...` finds the class by its file."""

from typing import Any

from fairground.catalogue import find_attribute


def __getattr__(name: str) -> Any:
    return find_attribute("samplers", name)
