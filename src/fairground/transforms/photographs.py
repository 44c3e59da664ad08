"""Augmentation of photographs with every number a setting: random resized crop, gray, colours, mirror.

Formula
    Training: where `resize_first`, shorter side to `shorter_side`; a box of U(smallest_area, 1) of the area, width :
    height log-uniform in (narrowest, widest), resized to `side` x `side`; gray with probability `gray`; brightness,
    contrast and saturation times U(1 - amount, 1 + amount) and hue turned by U(-hue, hue), in random order; mirrored
    with probability `flip`. Evaluation: shorter side to `shorter_side`, central `side` x `side`.

Paper
    Szegedy et al., "Going Deeper with Convolutions", CVPR 2015, section 6, for the crop; both benchmark papers use it.

Departures from the paper
    None; `transform=mlrc2020` and `transform=roth2020` are this with the papers' numbers.
"""

from fairground.contracts.trunk_head_transform import Preprocessing, require
from fairground.loading import transform_steps as steps


class PhotographsTransform(steps.PhotographTransform):
    """`gray` and `flip` are probabilities; `brightness`, `contrast`, `saturation` and `hue` are amounts, 0 for none."""

    bounds = {
        **{"smallest_area": "(0, 1]", "narrowest": "(0, inf)", "gray": "[0, 1]", "flip": "[0, 1]", "hue": "[0, 0.5]"},
        **{"brightness": "[0, inf)", "contrast": "[0, inf)", "saturation": "[0, inf)"},
    }

    def __init__(
        self,
        *,
        preprocessing: Preprocessing,
        side: int = 224,
        shorter_side: int = 256,
        resize_first: bool = False,
        smallest_area: float = 0.16,
        narrowest: float = 0.75,
        widest: float = 1.3333333333333333,
        gray: float = 0.0,
        brightness: float = 0.0,
        contrast: float = 0.0,
        saturation: float = 0.0,
        hue: float = 0.0,
        flip: float = 0.5,
    ) -> None:
        super().__init__(preprocessing, side, shorter_side)
        refusal = f"photographs.narrowest must be in (0, photographs.widest]; got {narrowest} and {widest}"
        require(narrowest <= widest, refusal)
        self.area, self.ratio, self.flip = (smallest_area, 1.0), (narrowest, widest), flip
        self.resized = shorter_side if resize_first else None
        self.gray, self.colours = gray, (brightness, contrast, saturation, hue)
