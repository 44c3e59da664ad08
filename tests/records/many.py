"""A store with very many records, written straight into its tables: one by one would take minutes."""

from collections.abc import Iterable

from fairground.records.layout import COLUMNS, digest_of
from fairground.records.record import RunRecord
from fairground.records.rows import record_columns, scores_text
from fairground.records.store import Store


def write_many(store: Store, records: Iterable[RunRecord]) -> int:
    """Write current records of runs that are new to the store; return how many."""
    return _insert(
        store,
        (
            (record_columns(record, is_current=True, written=""), record.to_json(), scores_text(record))
            for record in records
        ),
    )


def write_copies(store: Store, template: RunRecord, names: Iterable[tuple[str, str]]) -> int:
    """Write copies of a record under other names and methods; return how many."""
    text, columns = template.to_json(), record_columns(template, is_current=True, written="")
    scores = scores_text(template)

    def rows() -> Iterable[tuple[tuple[object, ...], str, str]]:
        for name, method in names:
            body = text.replace(template.name, name).replace(template.method, method)
            yield (name, method, *columns[2:]), body, scores

    return _insert(store, rows())


def _insert(store: Store, rows: Iterable[tuple[tuple[object, ...], str, str]]) -> int:
    connection = store._connect()
    connection.execute("BEGIN IMMEDIATE")
    (number,) = connection.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
    n, old = connection.execute("SELECT n, total FROM ledger WHERE what = 'record'").fetchone()
    first, total = number, int(old, 16)
    marks = ", ".join("?" * (len(COLUMNS) + 2))
    for columns, text, scores in rows:
        number += 1
        digest = digest_of(number, *columns)
        total += int(digest, 16)
        connection.execute(f"INSERT INTO record VALUES ({marks})", (number, *columns, digest))
        connection.execute("INSERT INTO body VALUES (?, ?, ?)", (number, text, digest_of(number, text)))
        connection.execute("INSERT INTO scores VALUES (?, ?, ?)", (number, scores, digest_of(number, scores)))
    values = (n + number - first, f"{total % (1 << 256):x}")
    connection.execute("UPDATE ledger SET n = ?, total = ? WHERE what = 'record'", values)
    connection.execute("COMMIT")
    return number - first
