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

    Queries search the gallery where the data set has both; who is of the query's group is passed over, as in scores.

    They are `images` (q, 1+k, h, w, c), `labels` and `rows` (q, 1+k), `right` (q, k), `average_precision` (q,) and
    `class_names` (c,) of all classes, for whoever draws more than these queries.
    """
    if len(rows) < 2 or not table.images.is_picture:
        return None
    labels = table.labels[rows]
    sample, nearest = _nearest(table, rows, embeddings, k)
    k = nearest.shape[1]
    if k == 0:
        return None
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


def _nearest(table: ImageTable, rows: np.ndarray, embeddings: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some queries (q,) and up to k nearest references (q, k) of each, all as places in `rows`."""
    queries, references = _roles(table, rows)
    unit = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)
    # A spread of queries is enough for a picture: judging a few hundred keeps this a fraction of a second on any set.
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


def _roles(table: ImageTable, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return who searches whom, as places in `rows`: as the data set says of these rows, otherwise each other."""
    everybody = np.arange(len(rows))
    if table.is_query is None or table.is_gallery is None:
        return everybody, everybody
    is_query, is_gallery = table.is_query[rows], table.is_gallery[rows]
    if not is_query.any():
        return everybody, everybody
    return np.flatnonzero(is_query), np.flatnonzero(is_gallery)


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
