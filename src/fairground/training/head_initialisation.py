"""A head that starts from the data is shown the trunk's features of the training split, once, before the first step."""

from fairground.evaluation.embed import embed_blocks
from fairground.training.assemble import Assembled


def start_head(parts: Assembled) -> None:
    """Fit the head where it asks to be; what it learns are weights, so a checkpoint holds them."""
    model = parts.model
    if model.head.needs_features:
        rows = parts.parts.train
        model.head.fit(embed_blocks(model.trunk, parts.table.images, rows, parts.transform, device=parts.device))
