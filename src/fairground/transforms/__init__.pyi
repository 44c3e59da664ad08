# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.transforms.mlrc2020 import Mlrc2020Transform
from fairground.transforms.photographs import PhotographsTransform
from fairground.transforms.plain import PlainTransform
from fairground.transforms.roth2020 import Roth2020Transform
from fairground.transforms.small_images import SmallImagesTransform

__all__ = [
    "Mlrc2020Transform",
    "PhotographsTransform",
    "PlainTransform",
    "Roth2020Transform",
    "SmallImagesTransform",
]
