"""The image pipeline of "A Metric Learning Reality Check": resized first, then a random resized crop and a mirror.

Formula
    Training: shorter side to 256; a box of U(0.16, 1) of the area, width : height log-uniform in (0.75, 1.33), resized
    to 227 x 227; mirrored with probability 0.5. Evaluation: shorter side to 256, central 227 x 227. Both: what the
    trunk's weights expect (for BN-Inception BGR in 0..255 minus (104, 117, 128)).

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, section 4, and its runner's configuration.

Departures from the paper
    None. The text's "40 to 256 pixels" is this share of the area in the runner; `side` = 224 suits trunks trained so.
"""

from fairground.contracts.trunk_head_transform import Preprocessing, require
from fairground.loading import transform_steps as steps


class Mlrc2020Transform(steps.PhotographTransform):
    """`side` of the square the network sees; `smallest_area` is the least share of the image a training crop covers."""

    bounds = {"smallest_area": "(0, 1]", "narrowest": "(0, inf)", "flip": "[0, 1]"}

    def __init__(
        self,
        *,
        preprocessing: Preprocessing,
        side: int = 227,
        shorter_side: int = 256,
        smallest_area: float = 0.16,
        narrowest: float = 0.75,
        widest: float = 1.33,
        flip: float = 0.5,
    ) -> None:
        super().__init__(preprocessing, side, shorter_side)
        require(narrowest <= widest, f"mlrc2020.narrowest must be in (0, mlrc2020.widest]; got {narrowest}, {widest}")
        self.area, self.ratio, self.flip = (smallest_area, 1.0), (narrowest, widest), flip
        self.resized = shorter_side
