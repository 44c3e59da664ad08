"""Queries of a measured split with their nearest neighbours, as pictures: the best, the worst and some between."""

import numpy as np

from fairground.contracts.table import Images, ImageTable

N_QUERIES = 12
N_NEIGHBOURS = 8
#: the side of a picture in pixels
SIDE = 96


def gallery_of(
    table: ImageTable, rows: np.ndarray, embeddings: np.ndarray, *, n: int = N_QUERIES, k: int = N_NEIGHBOURS
) -> dict[str, np.ndarray] | None:
    """Return arrays, or nothing where there is nothing to show, as for features.

    They are `images` (q, 1+k, h, w, c), `labels` and `rows` (q, 1+k), `right` (q, k), `average_precision` (q,) and
    `class_names` (c,) of all classes, for whoever draws more than these queries.
    """
    if len(rows) < 2 or not table.images.is_picture:
        return None
    labels = table.labels[rows]
    unit = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)
    k = min(k, len(rows) - 1)
    # A spread of queries is enough for a picture: judging a few hundred keeps this a fraction of a second on any set.
    sample = np.linspace(0, len(rows) - 1, min(len(rows), 400)).astype(np.int64)
    similarity = unit[sample] @ unit.T
    similarity[np.arange(len(sample)), sample] = -np.inf
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    right = labels[nearest] == labels[sample][:, None]
    precision = np.cumsum(right, axis=1) / np.arange(1, k + 1)
    quality = (precision * right).sum(axis=1) / k
    order = np.argsort(quality, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(n, len(order))).astype(np.int64)]
    shown = np.concatenate([sample[chosen][:, None], nearest[chosen]], axis=1)
    images = _pictures(table.images, rows[shown].reshape(-1))
    names = np.array(table.class_names)
    return {
        "images": images.reshape(*shown.shape, *images.shape[1:]),
        "labels": names[labels[shown]],
        "right": right[chosen],
        "average_precision": quality[chosen],
        "rows": rows[shown],
        "class_names": names,
    }


def _pictures(images: Images, rows: np.ndarray) -> np.ndarray:
    """Return the images (k, h, w, c) of `rows`: small ones whole, photographs as squares cut from their middle."""
    sizes = images.sizes(rows)
    if (sizes == sizes[0]).all() and sizes.max() <= SIDE:
        return images.take(rows).permute(0, 2, 3, 1).numpy()
    # The largest square of whatever size there is: images may have been prepared smaller than a picture here.
    longest = sizes.min(axis=1, keepdims=True)
    corner = ((sizes - longest) // 2)[:, ::-1]
    boxes = np.concatenate([corner, corner + longest], axis=1)
    return images.crops(rows, boxes, SIDE).permute(0, 2, 3, 1).numpy()
