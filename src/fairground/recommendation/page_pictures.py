"""What the page of a recommendation shows of the data: searches before and after, confused classes, labels, maps.

All of it is about test images, seen by the frozen network and by the chosen method; labels are judged on all images.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from fairground.audit import suspect_labels, weakness
from fairground.contracts import ImageTable
from fairground.deploy import thumbnail
from fairground.errors import DataError
from fairground.evaluation import EmbeddingView, evaluate_in_detail
from fairground.reporting import EmbeddingMap, Tile, data_uri, map_of, shorten
from fairground.training.embeddings_to_scores import queries_and_gallery

#: searches, neighbours of each, pairs of classes and labels that are shown
N_SEARCHES, N_NEIGHBOURS, N_PAIRS, N_LABELS = 6, 6, 6, 6


class PagePictures:
    """`views` are the test `rows` as the frozen network and the chosen method embed them, by title."""

    def __init__(self, table: ImageTable, rows: np.ndarray, views: Mapping[str, EmbeddingView]) -> None:
        self.table, self.rows, self.titles, self.views = table, rows, list(views), list(views.values())
        self.queries, self.gallery = (rows[some] for some in queries_and_gallery(table, rows))

    @cached_property
    def nearest(self) -> list[np.ndarray]:
        """The rows (n_queries, k) most similar to each query by each view; -1 where there are fewer."""
        numbers = (view.neighbour_numbers(N_NEIGHBOURS) for view in self.views)
        return [np.where(some >= 0, self.gallery[some], -1) for some in numbers]

    def content(self, features: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
        """Return all of it; `features` are those of the frozen network of all `rows` whose labels may be looked at."""
        judged = [(features, rows), *((view.embeddings, self.rows) for view in self.views[1:])]
        searches = self.searches() if self.views and self.table.images.is_picture else []
        return {
            "searches": searches,
            "confused": self.confused() if self.views else [],
            "maps": self.maps([one["picture"].row for one in searches]),
            "suspects": self.suspects(judged),
        }

    def tile(self, row: int, is_right: bool | None = None) -> Tile:
        images = self.table.images
        uri = data_uri(thumbnail(images, row)) if images.is_picture else None
        return Tile(uri or "", self._class(int(self.table.labels[row])), is_right, row)

    def searches(self) -> list[dict[str, Any]]:
        """Return test images with their nearest neighbours by each view, from the most gained to the most lost."""
        found = [evaluate_in_detail(view, ["map@r"]) for view in self.views]
        precision = [one.per_query["map@r"] for one in found]
        counted = np.flatnonzero(found[0].is_counted)
        change = precision[-1] - precision[0] if len(found) > 1 else precision[0]
        order = counted[np.argsort(-change[counted], kind="stable")]
        chosen = order[np.linspace(0, len(order) - 1, min(N_SEARCHES, len(order))).astype(np.int64)]
        labels = self.table.labels
        return [
            {
                "picture": self.tile(row),
                "found": [
                    [self.tile(one, bool(labels[one] == labels[row])) for one in nearest[query].tolist() if one >= 0]
                    for nearest in self.nearest
                ],
            }
            for query, row in zip(chosen, self.queries[chosen].tolist(), strict=True)
        ]

    def confused(self) -> list[dict[str, Any]]:
        """Return the pairs of classes whose images most often find the other class first, by the last view."""
        labels = self.table.labels
        mine = labels[self.queries]
        found = []
        for nearest in self.nearest:
            pairs: dict[tuple[int, int], list[int]] = {}
            for query in np.flatnonzero((nearest[:, 0] >= 0) & (labels[nearest[:, 0]] != mine)).tolist():
                low, high = sorted((int(mine[query]), int(labels[nearest[query, 0]])))
                pairs.setdefault((low, high), []).append(query)
            found.append(pairs)
        most = sorted(found[-1], key=lambda pair: (-len(found[-1][pair]), pair))[:N_PAIRS]
        return [
            {
                "names": [self._class(one) for one in pair],
                "counts": [len(pairs.get(pair, ())) for pairs in found],
                "n": int(np.isin(mine, pair).sum()),
                "pictures": [
                    self.tile(int(self.queries[found[-1][pair][0]])),
                    self.tile(int(self.nearest[-1][found[-1][pair][0], 0]), is_right=False),
                ],
            }
            for pair in most
        ]

    def maps(self, shown: Iterable[int]) -> list[EmbeddingMap]:
        """Return a map of each view; `shown` are rows whose pictures are on the page."""
        names = dict(enumerate(map(self._class, range(len(self.table.class_names)))))
        pictured = np.flatnonzero(np.isin(self.queries, list(shown))).tolist()
        labels = self.table.labels[self.queries]
        made = (
            map_of(title, "test", view.embeddings, labels, self.queries, names, pictured)
            for title, view in zip(self.titles, self.views, strict=True)
        )
        return [one for one in made if one is not None]

    def suspects(self, candidates: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any] | None:
        """Return images that are nearer to another class, by the first of some (features, rows) that tells classes."""
        labels = self.table.labels
        for features, rows in candidates:
            with suppress(DataError):
                found = suspect_labels(features, labels[rows])
                order = found.order()
                if weakness(len(order), len(rows)):
                    continue
                sound = np.delete(rows, order)
                shown = [
                    {
                        "name": self._name(int(rows[one])),
                        "picture": self.tile(int(rows[one])),
                        "classes": [self._example(sound, int(of)) for of in (labels[rows[one]], found.suggested[one])],
                    }
                    for one in order[:N_LABELS]
                ]
                return {"shown": shown, "n_found": len(order), "n_images": len(rows)}
        return None

    def _example(self, rows: np.ndarray, label: int) -> Tile:
        some = rows[self.table.labels[rows] == label]
        return self.tile(int(some[0])) if len(some) else Tile("", self._class(label), None, -1)

    def _class(self, label: int) -> str:
        return shorten(self.table.class_names[label].replace("_", " "), 60)

    def _name(self, row: int) -> str:
        return self.table.identifiers[row] if self.table.identifiers else f"row {row}"
