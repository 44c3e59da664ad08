"""The steps that transforms are made of: crop boxes, resizing and cropping as Pillow does, colours, flips."""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image

from fairground.contracts import Augmentation, DataError, Device, Images, PlannedTransform, Preprocessing, require

_BILINEAR = Image.Resampling.BILINEAR
#: left, top, right and bottom
Box = Sequence[int] | np.ndarray


def cut(pixels: np.ndarray, box: Box, out: np.ndarray) -> None:
    """Write a box (left, top, right, bottom) of uint8 pixels (h, w, 3) into `out` (side, side, 3), resized."""
    left, top, right, bottom = (int(edge) for edge in box)
    height, width, _ = pixels.shape
    refusal = f"box ({left}, {top}, {right}, {bottom}) does not lie within an image {width} wide and {height} high"
    require(0 <= left < right <= width and 0 <= top < bottom <= height, refusal)
    piece = Image.fromarray(np.ascontiguousarray(pixels[top:bottom, left:right]))
    # One side at a time: which one goes first changes pixels, and recent versions of Pillow choose it themselves.
    out[:] = piece.resize((len(out), piece.height), _BILINEAR).resize((len(out), len(out)), _BILINEAR)


#: after so many boxes that do not fit, the middle is taken
_TRIES = 10


def random_resized_boxes(
    sizes: np.ndarray, generator: torch.Generator, *, area: tuple[float, float], ratio: tuple[float, float]
) -> np.ndarray:
    """Return one box (k, 4) per image of a random share of its `area` and a random `ratio` of width to height.

    The share is uniform and the ratio log-uniform. The first of ten draws that fits is placed uniformly; where none
    does, the box is the largest central one whose ratio is allowed.
    """
    k = len(sizes)
    draws = _uniform((_TRIES, k, 2), generator)
    shares = area[0] + (area[1] - area[0]) * draws[:, :, 0]
    ratios = np.exp(np.log(ratio[0]) + (np.log(ratio[1]) - np.log(ratio[0])) * draws[:, :, 1])
    target = sizes.prod(axis=1) * shares
    tried = np.rint(np.sqrt(np.stack([target / ratios, target * ratios], axis=2))).astype(np.int64)  # (tries, k, 2)
    fits = ((tried > 0) & (tried <= sizes)).all(axis=2)
    cut = tried[fits.argmax(axis=0), np.arange(k)]
    corner = np.floor(_uniform((k, 2), generator) * (sizes - cut + 1)).astype(np.int64)
    none = ~fits.any(axis=0)
    cut[none] = _widest_allowed(sizes[none], ratio)
    corner[none] = (sizes[none] - cut[none]) // 2
    return _boxes(corner, cut)


def random_boxes(sizes: np.ndarray, generator: torch.Generator, side: int) -> np.ndarray:
    """Return one square box (k, 4) of that `side` per image, placed uniformly."""
    corner = np.floor(_uniform((len(sizes), 2), generator) * (sizes - side + 1)).astype(np.int64)
    return _boxes(corner, np.full_like(sizes, side))


def central_boxes(sizes: np.ndarray, side: int) -> np.ndarray:
    """Return the square box (k, 4) of that `side` in the middle of each image; halves go to the even number."""
    return _boxes(np.rint((sizes - side) / 2).astype(np.int64), np.full_like(sizes, side))


def random_flips(n: int, generator: torch.Generator, probability: float) -> torch.Tensor:
    return torch.rand(n, generator=generator, device=generator.device).cpu() < probability


def _widest_allowed(sizes: np.ndarray, ratio: tuple[float, float]) -> np.ndarray:
    """Return the largest height and width (k, 2) within each image whose ratio is allowed."""
    height, width = sizes[:, 0], sizes[:, 1]
    shape = width / height
    high = np.where(shape < ratio[0], np.rint(width / ratio[0]).astype(np.int64), height)
    wide = np.where(shape > ratio[1], np.rint(height * ratio[1]).astype(np.int64), width)
    # A sliver of an image may round to nothing.
    return np.stack([high, wide], axis=1).clip(min=1)


def _boxes(corner: np.ndarray, cut: np.ndarray) -> np.ndarray:
    return np.concatenate([corner[:, ::-1], (corner + cut)[:, ::-1]], axis=1)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> np.ndarray:
    """Draw from [0, 1) in single precision, which every device has and no side of an image exhausts."""
    return np.asarray(torch.rand(*shape, generator=generator, device=generator.device).cpu().double().numpy())


def resized_sizes(sizes: np.ndarray, shorter_side: int | None) -> np.ndarray:
    """Return height and width (..., 2) once the shorter side is `shorter_side`; the longer one is rounded down."""
    if shorter_side is None:
        return sizes
    return np.asarray(np.maximum(1, shorter_side * sizes // sizes.min(axis=-1, keepdims=True)))


def require_one_size(sizes: np.ndarray) -> None:
    refusal = "photographs of different sizes cannot be stacked whole; use a transform that cuts, such as plain"
    require(len(sizes) > 0 and bool((sizes == sizes[0]).all()), refusal, DataError)


def resize_shorter_side(image: Image.Image, shorter_side: int | None) -> Image.Image:
    height, width = resized_sizes(np.array([image.height, image.width]), shorter_side).tolist()
    return image if image.size == (width, height) else image.resize((width, height), _BILINEAR)


def crop_batch(images: Sequence[np.ndarray], boxes: np.ndarray, side: int, shorter_side: int | None) -> torch.Tensor:
    """Return one box (k, 4) of each uint8 image (c, h, w), resized to a square: uint8 (k, c, side, side)."""
    pixels = np.empty((len(boxes), side, side, images[0].shape[0]), np.uint8)
    for number, (source, box) in enumerate(zip(images, boxes, strict=True)):
        whole = source[0] if len(source) == 1 else np.moveaxis(source, 0, 2)
        image = resize_shorter_side(Image.fromarray(np.ascontiguousarray(whole)), shorter_side)
        # First cut, then resized: the filter must not see past the box, or the crop would depend on what is beside it.
        piece = image.crop(tuple(box.tolist()))
        if piece.size != (side, side):
            piece = piece.resize((side, side), _BILINEAR)
        pixels[number] = np.asarray(piece).reshape(side, side, -1)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


def gray(images: torch.Tensor) -> torch.Tensor:
    """Return the lightness (n, 1, h, w) as int32: 0.299 red + 0.587 green + 0.114 blue, in Pillow's fixed point."""
    red, green, blue = images.to(torch.int32).unbind(1)
    return ((red * 19595 + green * 38470 + blue * 7471 + 32768) >> 16).unsqueeze(1)


def brighten(images: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    return _blend(torch.zeros_like(images), images, factors)


def contrast(images: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    light = gray(images).flatten(1).long()
    count = light.shape[1]
    mean = (2 * light.sum(1) + count) // (2 * count)  # rounded
    return _blend(mean.view(-1, 1, 1, 1), images, factors)


def saturate(images: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    return _blend(gray(images), images, factors)


def turn_hue(images: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
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


def jitter_draws(n: int, generator: torch.Generator) -> torch.Tensor:
    """Return the random numbers (8, n) that `jitter` needs for n images."""
    return torch.rand(8, n, generator=generator, device=generator.device).cpu()


def jitter(images: torch.Tensor, amounts: tuple[float, float, float, float], draws: torch.Tensor) -> torch.Tensor:
    """Return images with brightness, contrast, saturation and hue changed at random, in random order for each image.

    The first three factors are uniform in [1 - amount, 1 + amount], not below 0; hue turns uniformly in +-amount. The
    `draws` (8, n) are uniform in [0, 1), in main memory, so that the choice of images does not wait for a device. The
    images given are changed in place.
    """
    order = draws[:4].argsort(dim=0)
    changes = (brighten, contrast, saturate, turn_hue)
    for place in range(4):
        for number, (change, amount) in enumerate(zip(changes, amounts, strict=True)):
            chosen = (order[place] == number).nonzero().squeeze(1)
            low, high = (-amount, amount) if change is turn_hue else (max(0.0, 1.0 - amount), 1.0 + amount)
            factors = low + (high - low) * draws[4 + number, chosen]
            if amount > 0 and len(chosen):
                chosen = chosen.to(images.device)
                images.index_copy_(0, chosen, change(images[chosen], factors.to(images.device)))
    return images


def _blend(base: torch.Tensor, images: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """Return base + factor (image - base), cut off at 0 and 255, fractions dropped."""
    ground = base.float()
    return (ground + factors.view(-1, 1, 1, 1) * (images.float() - ground)).clamp(0, 255).to(torch.uint8)


def _from_hue(hue: torch.Tensor, saturation: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return RGB bytes (n, 3, h, w) from a hue in [0, 6], a saturation in [0, 1] and a value in [0, 255]."""
    n, height, width = hue.shape
    pixels = torch.empty((n, height, width, 3), dtype=torch.uint8, device=hue.device).permute(0, 3, 1, 2)
    for channel, lag in enumerate((5, 3, 1)):
        # A channel is full over two sixths of the circle round its colour, gone over two, and between them on a line.
        place = hue.add(lag).remainder_(6)
        gone = torch.minimum(place, 4 - place).clamp_(0, 1).mul_(saturation)
        pixels[:, channel] = (1 - gone).mul_(value).add_(0.5)
    return pixels


def mirror(images: torch.Tensor, is_chosen: torch.Tensor) -> torch.Tensor:
    """Return images (n, c, h, w), the chosen ones (n,) mirrored; those given may be changed."""
    chosen = is_chosen.nonzero().squeeze(1).to(images.device)
    return images.index_copy_(0, chosen, images[chosen].flip(3))


class PhotographTransform(PlannedTransform):
    """Trains on random crops and evaluates the middle square of each image after its shorter side was resized.

    A training crop covers a random share of the image within `area`, with a `ratio` of width to height; the image is
    `resized` first where that is set. `gray` and `flip` are probabilities; `colours` are the amounts of `jitter`.
    """

    resized: int | None = None
    area: tuple[float, float]
    ratio: tuple[float, float]
    gray: float = 0.0
    colours: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    flip: float

    def __init__(self, preprocessing: Preprocessing, side: int, shorter_side: int) -> None:
        name = type(self).__module__.rpartition(".")[2]
        require(1 <= shorter_side <= 4096, f"{name}.shorter_side must be in [1, 4096] pixels; got {shorter_side}")
        refusal = f"{name}.side must be in [1, {name}.shorter_side = {shorter_side}]; got {side}"
        require(1 <= side <= shorter_side, refusal)
        self.preprocessing, self.side, self.shorter_side = preprocessing, side, shorter_side

    def boxes(self, sizes: np.ndarray, generator: torch.Generator) -> np.ndarray:
        return random_resized_boxes(sizes, generator, area=self.area, ratio=self.ratio)

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator, device: Device = None) -> Augmentation:
        n = len(rows)
        boxes = self.boxes(images.sizes(rows, shorter_side=self.resized), generator)
        is_gray = random_flips(n, generator, self.gray) if self.gray else None
        changes = jitter_draws(n, generator) if any(self.colours) else None
        is_flipped = random_flips(n, generator, self.flip)

        def make(part: slice) -> torch.Tensor:
            crops = images.crops(rows[part], boxes[part], self.side, shorter_side=self.resized)
            pixels = to_device(crops, device)
            if is_gray is not None:
                chosen = is_gray[part].nonzero().squeeze(1).to(pixels.device)
                pixels = pixels.index_copy_(0, chosen, gray(pixels[chosen]).to(torch.uint8).expand(-1, 3, -1, -1))
            if changes is not None:
                pixels = jitter(pixels, self.colours, changes[:, part])
            return self.preprocessing.apply(mirror(pixels, is_flipped[part]))

        return Augmentation(n, make)

    def evaluate(self, images: Images, rows: np.ndarray, device: Device = None) -> torch.Tensor:
        boxes = central_boxes(images.sizes(rows, shorter_side=self.shorter_side), self.side)
        pixels = images.crops(rows, boxes, self.side, shorter_side=self.shorter_side)
        return self.preprocessing.apply(to_device(pixels, device))


def to_device(pixels: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """Return pixels on a device; the thread that reads images does not wait for a copy to a CUDA device."""
    is_pinned = device is not None and device.type == "cuda"
    return (pixels.pin_memory() if is_pinned else pixels).to(device, non_blocking=is_pinned)
