"""Small training splits, and what the sampler tests ask of them."""

import torch

from fairground.samplers._class_draws import ClassRows, draw_candidates


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def even_split(n_classes=20, size=10, seed=0):
    """Labels of classes of one size, in random order."""
    labels = torch.arange(n_classes).repeat_interleave(size)
    return labels[torch.randperm(len(labels), generator=seeded(seed))]


def uneven_split(sizes=(1, 2, 3, 5, 8, 13, 21, 34, 10, 10), seed=0):
    """Labels of classes of given sizes, in random order."""
    labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return labels[torch.randperm(len(labels), generator=seeded(seed))]


def clustered(labels, dimension=8, seed=0, spread=0.5):
    """Embeddings around one centre a class."""
    generator = seeded(seed)
    centres = torch.randn(int(labels.max()) + 1, dimension, generator=generator)
    return centres[labels] + spread * torch.randn(len(labels), dimension, generator=generator)


def draws(sampler, n, seed=0):
    """The first n batches of an epoch, as lists."""
    generator = seeded(seed)
    sampler.start_epoch(generator)
    return [sampler.draw(generator).tolist() for _ in range(n)]


def candidates_of(labels, *, pool, n_slots, per_class, n=10, replace_classes=False, seed=0):
    """The pool and the candidate batches that a sampler draws from it."""
    settings = {"n_slots": n_slots, "per_class": per_class, "replace_classes": replace_classes}
    return draw_candidates(ClassRows(labels), pool=pool, n_candidates=n, generator=seeded(seed), **settings)


def class_counts(labels, batch):
    """How many images of each class a batch has."""
    values, counts = torch.unique(labels[torch.as_tensor(batch)], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
