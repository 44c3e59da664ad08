"""A run that takes a second, for tests of the whole walk."""

from fairground.spec import RunSpec, load_run, parse_overrides

TINY = (
    *("data=synthetic", "data.n_classes=16", "data.per_class=12", "data.size=16"),
    *("trunk.widths=[8, 16]", "head.embedding_dim=16"),
    *("training.batch_size=16", "training.epochs=3", "training.batches_per_epoch=6"),
)


def latest(*words: str) -> list[str]:
    """Return the last word on each key."""
    return list({word.partition("=")[0]: word for word in words}.values())


def tiny_words(*overrides: str) -> list[str]:
    """Return the words of the tiny spec with some keys said otherwise."""
    return latest(*TINY, *overrides)


def spec_of(*words: str) -> RunSpec:
    return load_run(overrides=parse_overrides(latest(*words)))


def tiny(*overrides: str) -> RunSpec:
    """Return the tiny spec with some keys said otherwise."""
    return spec_of(*TINY, *overrides)
