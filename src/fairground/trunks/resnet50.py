"""ResNet-50: residual blocks of three convolutions, the trunk of Roth et al.

Formula
    Stem: convolution 7 x 7 / 2, batch norm, ReLU, max pool 3 x 3 / 2. Then 3, 4, 6 and 3 blocks of width 64, 128, 256
    and 512: h <- relu(h' + bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(h)))))))), four times as wide at the end; h' is
    h, or its projection where size or width change. The features are the mean over the image: 2048 numbers, 23.5
    million weights.

Paper
    He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", CVPR 2016.

Departures from the paper
    A block halves the image in its 3 x 3 convolution rather than the first 1 x 1 one, as the weights need that
    torchvision and Cadene's `pretrainedmodels` publish. Without weights, the first ones are torch's own.
"""

from fairground.contracts.trunk_head_transform import PublishedWeights
from fairground.trunks._bottleneck import BottleneckTrunk


class Resnet50Trunk(BottleneckTrunk):
    """`weights` is none, imagenet, or a file with torchvision's or Cadene's names; a pickle needs `weights_sha256`."""

    has_stride_first = False

    n_weights = 23_508_032
    published = (
        PublishedWeights(
            file="resnet50-0676ba61.pth",
            sha256="0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a",
            address="https://download.pytorch.org/models/resnet50-0676ba61.pth",
        ),
        # The same weights as saved in 2017; `pretrainedmodels`, and with it Roth et al., used this file.
        PublishedWeights(
            file="resnet50-19c8e357.pth",
            sha256="19c8e357",
            address="https://download.pytorch.org/models/resnet50-19c8e357.pth",
        ),
    )
