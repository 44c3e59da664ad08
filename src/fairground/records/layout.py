"""The tables of the store, and the digests that each of their rows carries."""

import hashlib

#: 2 added digests, the ledger and scores as one text a record; version 1 is brought up to date when it is opened
STORE_VERSION = 2
# The JSON texts live apart from the columns that are searched: a scan over 100,000 runs then reads a few megabytes.
# The ledger counts the rows and sums their digests: a row that vanishes, or is not seen any more, is missed.
LAYOUT = """
CREATE TABLE record (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, method TEXT NOT NULL, state TEXT NOT NULL,
    protocol TEXT, dataset TEXT, loss TEXT, miner TEXT, seed INTEGER,
    is_current INTEGER NOT NULL, written TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
CREATE TABLE body (record INTEGER PRIMARY KEY REFERENCES record (id), json TEXT NOT NULL, digest TEXT NOT NULL) STRICT;
CREATE TABLE scores (
    record INTEGER PRIMARY KEY REFERENCES record (id), json TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, run TEXT, detail TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE ledger (what TEXT PRIMARY KEY, n INTEGER NOT NULL, total TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX one_current_record_a_run ON record (name) WHERE is_current = 1;
CREATE INDEX record_by_name ON record (name);
CREATE INDEX event_by_kind ON event (kind);
CREATE INDEX event_by_run ON event (run);
INSERT INTO ledger VALUES ('record', 0, '0'), ('event', 0, '0');
"""

#: what a record can be searched by; with its number and digest, all there is in its row
COLUMNS = ("name", "method", "state", "protocol", "dataset", "loss", "miner", "seed", "is_current", "written")

EVENT_COLUMNS = ("at", "who", "kind", "run", "detail")


def digest_of(*row: object) -> str:
    """Return the digest of a row: of its number and of everything else in it."""
    return digest_of_row(row)


def digest_of_row(row: tuple[object, ...]) -> str:
    """Return the same digest of a row that is one tuple already."""
    # `ascii` is the same text in every version of Python, which `repr` is not, and quicker than anything of ours.
    return hashlib.sha256(ascii(row).encode()).hexdigest()


def sum_of(total: str, *, plus: str = "0", minus: str = "0") -> str:
    """Return a ledger's sum of digests with one more and one less in it; the order of rows does not matter."""
    return f"{(int(total, 16) + int(plus, 16) - int(minus, 16)) % (1 << 256):x}"
