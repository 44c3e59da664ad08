"""Made-up images whose classes can be learnt: each class is a smooth random pattern, shifted and under noise.

Formula
    image = clip(128 + 64 * (pattern of its class, moved by up to `shift` pixels + noise * normal))
    size of the k-th class of its half = round(per_class * imbalance^(-k / (n - 1))), k = 0..n-1; 1 for the lone classes

Paper
    None: a generator for tests and for trying things out, where the answer must not depend on any file.
"""

import numpy as np
import torch

from fairground.contracts.dataset import Dataset, ImageTable, require
from fairground.loading.image_dataset import ImagesInMemory


class SyntheticDataset(Dataset):
    """`noise` is its deviation against a pattern of deviation 1; the second half of the classes is the test half.

    `imbalance` is how many times larger the first class of each half is than its last: 1 for equal classes, more for
    a long tail. The last `lone_classes` classes of each half have a single image. With `super_classes` above 0 the
    classes are dealt out to that many super-classes in turn.
    """

    bounds = {
        **{"n_classes": "[2, inf)", "per_class": "[1, inf)", "size": "[4, inf)", "channels": "[1, inf)"},
        **{"noise": "[0, inf)", "shift": "[0, inf)", "imbalance": "[1, inf)", "super_classes": "[0, inf)"},
    }

    def __init__(
        self,
        *,
        n_classes: int = 20,
        per_class: int = 20,
        size: int = 32,
        channels: int = 1,
        noise: float = 0.5,
        shift: int = 2,
        imbalance: float = 1.0,
        lone_classes: int = 0,
        super_classes: int = 0,
        seed: int = 0,
    ) -> None:
        refusal = f"synthetic.lone_classes must be in 0..{n_classes // 2}, the classes of a half; got {lone_classes}"
        require(0 <= lone_classes <= n_classes // 2, refusal)
        self.n_classes, self.per_class, self.super_classes = n_classes, per_class, super_classes
        self.size, self.channels, self.noise, self.shift = size, channels, noise, shift
        self.imbalance, self.lone_classes, self.seed = imbalance, lone_classes, seed

    def version(self) -> tuple[str | int, ...]:
        return ()

    def load(self) -> ImageTable:
        generator = torch.Generator().manual_seed(self.seed)
        n_seen = (self.n_classes + 1) // 2
        sizes = [*self._sizes(n_seen), *self._sizes(self.n_classes - n_seen)]
        labels = torch.arange(self.n_classes).repeat_interleave(torch.tensor(sizes))
        side = self.size + 2 * self.shift
        coarse = torch.randn((self.n_classes, self.channels, 5, 5), generator=generator)
        smooth = torch.nn.functional.interpolate(coarse, size=(side, side), mode="bicubic", align_corners=True)
        deviation, mean = torch.std_mean(smooth, dim=(1, 2, 3), keepdim=True)
        corners = torch.randint(0, 2 * self.shift + 1, (2, len(labels), 1), generator=generator)
        rows, columns = corners + torch.arange(self.size)
        channels = torch.arange(self.channels).view(1, -1, 1, 1)
        images = ((smooth - mean) / deviation)[
            labels.view(-1, 1, 1, 1), channels, rows[:, None, :, None], columns[:, None, None, :]
        ]
        images += self.noise * torch.randn(images.shape, generator=generator)
        pixels = (128 + 64 * images).round().clamp(0, 255).to(torch.uint8)
        return ImageTable(
            images=ImagesInMemory(pixels.numpy()),
            labels=labels.numpy(),
            class_names=tuple(f"class-{label:04d}" for label in range(self.n_classes)),
            official_test=(labels >= n_seen).numpy(),
            super_labels=(labels % self.super_classes).numpy() if self.super_classes else None,
        )

    def _sizes(self, n: int) -> list[int]:
        steps = np.arange(n) / max(n - 1, 1)
        sizes = np.maximum(np.round(self.per_class * self.imbalance**-steps), 1).astype(int)
        sizes[n - self.lone_classes :] = 1
        return [int(size) for size in sizes]
