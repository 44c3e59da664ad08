"""EfficientNet-Lite1: EfficientNet-Lite0 with 1.1 times as many blocks.

Formula
    As `efficientnet_lite0`, with 21 blocks: each stage but the first and the last has one more. 4.1 million weights.

Paper
    Tan and Le, "EfficientNet", ICML 2019; the Lite variant (no squeeze-and-excitation, ReLU6) is Google's, 2020.

Departures from the paper
    As `efficientnet_lite0`. Its weights were trained on images of 240 pixels.
"""

from fairground.trunks._efficientnet_lite import EfficientnetLiteTrunk, packaged_weights


class EfficientnetLite1Trunk(EfficientnetLiteTrunk):
    """Takes the settings of `efficientnet_lite0`."""

    depths = (1, 3, 3, 4, 4, 5, 1)
    widths = (16, 24, 40, 80, 112, 192, 320)
    n_weights = 4_135_680
    published = packaged_weights(1, "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850")
