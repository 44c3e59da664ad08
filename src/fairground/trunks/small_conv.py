"""A small convolutional network for small images: blocks of convolution, batch norm, ReLU and pooling.

Formula
    Each block halves the image: h <- relu(maxpool2(batch_norm(conv3x3(h)))); the features are the mean over what is
    left of the image. The default widths 32-64-128-128 give 0.24 million weights.

Paper
    The four-block network of Vinyals et al., "Matching Networks", NeurIPS 2016, with growing widths.

Departures from the paper
    Widths grow instead of staying at 64, and the last block is averaged rather than flattened, so that any image of at
    least 2^blocks pixels a side fits. The maximum is taken before ReLU: the same values for a quarter of the work.
"""

from collections.abc import Sequence

from torch import nn

from fairground.contracts.trunk_head_transform import Pooling, Trunk, require
from fairground.trunks._fused_convolution import pooled_blocks


class SmallConvTrunk(Trunk):
    """`widths` is the number of channels of each block; `channels` that of the images."""

    def __init__(self, *, channels: int, widths: Sequence[int] = (32, 64, 128, 128), pooling: Pooling = "avg") -> None:
        super().__init__(pooling=pooling)
        refusal = f"small_conv.widths must be positive whole numbers, one per block; got {list(widths)}"
        require(len(widths) > 0 and all(isinstance(width, int) and width > 0 for width in widths), refusal)
        self.stages = nn.ModuleList(pooled_blocks(channels, widths))
        self.n_features = widths[-1]
