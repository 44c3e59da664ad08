"""What networks made for photographs do with images of one channel."""

from torch import Tensor, nn

from fairground.contracts.model import require


class InColour(nn.Module):
    """Gray images become three equal channels; a view, so it costs nothing."""

    def forward(self, images: Tensor) -> Tensor:
        return images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images


def require_photographs(name: str, channels: int) -> None:
    """Refuse data that is neither gray nor coloured."""
    require(
        channels in (1, 3),
        f"trunk {name} takes images of 3 channels, or of 1 that is repeated; the data have {channels}. For ready-made "
        "features say trunk=features",
    )
