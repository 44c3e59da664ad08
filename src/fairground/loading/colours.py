"""Random changes of colour for a whole batch of uint8 RGB images (n, 3, h, w), on any device.

Each is Pillow's arithmetic, which both papers' pipelines used: every step ends in whole levels from 0 to 255 (a turned
hue may be one step of 1/255 off in one pixel of a thousand). Factors are one number an image.
"""

import torch
from torch import Tensor


def gray(images: Tensor) -> Tensor:
    """Return the lightness (n, 1, h, w) as int32: 0.299 red + 0.587 green + 0.114 blue, in Pillow's fixed point."""
    red, green, blue = images.to(torch.int32).unbind(1)
    return ((red * 19595 + green * 38470 + blue * 7471 + 32768) >> 16).unsqueeze(1)


def brighten(images: Tensor, factors: Tensor) -> Tensor:
    """Return images multiplied by `factors` (n,)."""
    return _blend(torch.zeros_like(images), images, factors)


def contrast(images: Tensor, factors: Tensor) -> Tensor:
    """Return images whose distance from their own mean lightness is multiplied by `factors` (n,)."""
    light = gray(images).flatten(1).long()
    count = light.shape[1]
    mean = (2 * light.sum(1) + count) // (2 * count)  # rounded
    return _blend(mean.view(-1, 1, 1, 1), images, factors)


def saturate(images: Tensor, factors: Tensor) -> Tensor:
    """Return images whose distance from gray is multiplied by `factors` (n,)."""
    return _blend(gray(images), images, factors)


def turn_hue(images: Tensor, turns: Tensor) -> Tensor:
    """Return images whose hue is turned by `turns` (n,) of the whole circle, in steps of 1/255."""
    red, green, blue = (plane.float().contiguous() for plane in images.unbind(1))
    top = red.maximum(green).maximum(blue)
    spread = top - red.minimum(green).minimum(blue)
    safe = spread.clamp(min=1)
    # In the order of Pillow's operations: a step of the circle is a whole number, so a last digit can move a pixel.
    no_red, no_green, no_blue = (top - red).div_(safe), (top - green).div_(safe), (top - blue).div_(safe)
    hue = torch.where(green == top, (2 + no_red).sub_(no_blue), (4 + no_green).sub_(no_red))
    hue = torch.where(red == top, no_blue.sub_(no_green), hue)
    steps = hue.div_(6).add_(1).frac_().mul_(255).to(torch.int32)
    steps = steps.masked_fill_(spread == 0, 0).add_((turns * 255).to(torch.int32).view(-1, 1, 1)).bitwise_and_(255)
    saturation = spread.div_(top.clamp(min=1)).mul_(255).floor_().div_(255)
    return _from_hue(steps.mul(6).div(255), saturation, top)


def jitter_draws(n: int, generator: torch.Generator) -> Tensor:
    """Return the random numbers (8, n) that `jitter` needs for n images."""
    return torch.rand(8, n, generator=generator, device=generator.device)


def jitter(images: Tensor, amounts: tuple[float, float, float, float], draws: Tensor) -> Tensor:
    """Return images with brightness, contrast, saturation and hue changed at random, in random order for each image.

    The first three factors are uniform in [1 - amount, 1 + amount], not below 0; hue turns uniformly in +-amount. The
    `draws` (8, n) are uniform in [0, 1). The images given are changed in place.
    """
    draws = draws.to(images.device)
    order = draws[:4].argsort(dim=0)
    changes = (brighten, contrast, saturate, turn_hue)
    centres = (1.0, 1.0, 1.0, 0.0)
    for place in range(4):
        for number, change in enumerate(changes):
            chosen = (order[place] == number).nonzero().squeeze(1)
            low = centres[number] - amounts[number]
            low = max(0.0, low) if number < 3 else low
            factors = low + (centres[number] + amounts[number] - low) * draws[4 + number, chosen]
            if amounts[number] > 0 and len(chosen):
                images.index_copy_(0, chosen, change(images[chosen], factors))
    return images


def _blend(base: Tensor, images: Tensor, factors: Tensor) -> Tensor:
    """Return base + factor (image - base), cut off at 0 and 255, fractions dropped."""
    ground = base.float()
    return (ground + factors.view(-1, 1, 1, 1) * (images.float() - ground)).clamp(0, 255).to(torch.uint8)


def _from_hue(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Return RGB bytes (n, 3, h, w) from a hue in [0, 6], a saturation in [0, 1] and a value in [0, 255]."""
    n, height, width = hue.shape
    pixels = torch.empty((n, height, width, 3), dtype=torch.uint8, device=hue.device).permute(0, 3, 1, 2)
    for channel, lag in enumerate((5, 3, 1)):
        # A channel is full over two sixths of the circle round its colour, gone over two, and between them on a line.
        place = hue.add(lag).remainder_(6)
        gone = torch.minimum(place, 4 - place).clamp_(0, 1).mul_(saturation)
        pixels[:, channel] = (1 - gone).mul_(value).add_(0.5)
    return pixels
