"""EfficientNet-Lite0: inverted residual blocks, small enough to fine-tune on a processor.

Formula
    Stem: convolution 3 x 3 / 2 to 32 channels. Then 16 blocks: 1 x 1 convolution to six times the width (the first
    block has none), depthwise 3 x 3 or 5 x 5, 1 x 1 back, the input added where size and width stay; batch norm after
    each, and ReLU6 after all but the last. Then 1 x 1 to 1280. The features are the mean over the image: 1280 numbers,
    3.4 million weights.

Paper
    Tan and Le, "EfficientNet", ICML 2019; the Lite variant (no squeeze-and-excitation, ReLU6) is Google's, 2020.

Departures from the paper
    No stochastic depth and no dropout. Padding is that of a 224-pixel image whatever the size, so that sizes divisible
    by 32 are as in the original. The weights expect (value - 127) / 128, which costs nine points of recall to forget.
"""

from fairground.trunks._efficientnet_lite import EfficientnetLiteTrunk, packaged_weights


class EfficientnetLite0Trunk(EfficientnetLiteTrunk):
    """`weights` is none, imagenet, or a file with names as in `efficientnet_lite_pytorch`.

    A pickle needs `weights_sha256`.
    """

    depths = (1, 2, 2, 3, 3, 4, 1)
    widths = (16, 24, 40, 80, 112, 192, 320)
    n_weights = 3_371_008
    published = packaged_weights(0, "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db")
