"""Which queries the gallery of a run shows, with their nearest neighbours."""

import numpy as np

from fairground.contracts import Images, ImageTable
from fairground.training.embeddings_to_scores import queries_and_gallery

#: queries shown, neighbours of each, and the side of a picture in pixels
N_QUERIES, N_NEIGHBOURS, SIDE = 12, 8, 96


def gallery_of(
    table: ImageTable, rows: np.ndarray, embeddings: np.ndarray, *, n: int = N_QUERIES, k: int = N_NEIGHBOURS
) -> dict[str, np.ndarray] | None:
    """Return the best, the worst and some queries between; None where there are no pictures, as for features.

    The arrays are `images` (q, 1+k, h, w, c), `labels` and `rows` (q, 1+k), `right` (q, k), `average_precision` (q,)
    and `class_names` (c,) of all classes. Images of the query's group are skipped, as in scores.
    """
    if len(rows) < 2 or not table.images.is_picture:
        return None
    labels = table.labels[rows]
    sample, nearest = _nearest(table, rows, embeddings, k)
    k = nearest.shape[1]
    if k == 0:
        return None
    right = labels[nearest] == labels[sample][:, None]
    if table.label_sets is not None:
        right = (table.label_sets[rows[nearest]] & table.label_sets[rows[sample]][:, None]).any(axis=2)
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


def _nearest(table: ImageTable, rows: np.ndarray, embeddings: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some queries (q,) and up to k nearest references (q, k) of each, all as places in `rows`."""
    queries, references = queries_and_gallery(table, rows)
    unit = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)
    # A few hundred queries spread over the rows are enough to choose from, and take a fraction of a second.
    sample = queries[np.linspace(0, len(queries) - 1, min(len(queries), 400)).astype(np.int64)]
    is_allowed = sample[:, None] != references
    if table.groups is not None:
        groups = table.groups[rows]
        is_allowed &= groups[sample][:, None] != groups[references]
    has_any = is_allowed.any(axis=1)
    sample, is_allowed = sample[has_any], is_allowed[has_any]
    similarity = np.where(is_allowed, unit[sample] @ unit[references].T, -np.inf)
    k = min(k, int(is_allowed.sum(axis=1).min(initial=k)))
    return sample, references[np.argsort(-similarity, axis=1, kind="stable")[:, : k if len(sample) else 0]]


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
