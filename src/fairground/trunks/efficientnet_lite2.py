"""EfficientNet-Lite2: EfficientNet-Lite1 with 1.1 times the width.

Formula
    As `efficientnet_lite1`, with all widths but those of stem and top times 1.1, to the nearest 8. 4.8 million weights.

Paper
    Tan and Le, "EfficientNet", ICML 2019; the Lite variant (no squeeze-and-excitation, ReLU6) is Google's, 2020.

Departures from the paper
    As `efficientnet_lite0`. Its weights were trained on images of 260 pixels.
"""

from fairground.trunks._efficientnet_lite import EfficientnetLiteTrunk, packaged_weights


class EfficientnetLite2Trunk(EfficientnetLiteTrunk):
    """Takes the settings of `efficientnet_lite0`."""

    depths = (1, 3, 3, 4, 4, 5, 1)
    widths = (16, 24, 48, 88, 120, 208, 352)
    n_weights = 4_811_072
    published = packaged_weights(2, "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d")
