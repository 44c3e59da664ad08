# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.errors import ClusterError
from fairground.errors import DamageWarning
from fairground.errors import DataError
from fairground.errors import DivergedError
from fairground.errors import FairgroundError
from fairground.errors import InputError
from fairground.errors import PictureError
from fairground.errors import SealError
from fairground.errors import StoreError
from fairground.errors import folded_name
from fairground.errors import nearest
from fairground.errors import require
from fairground.errors import require_within
from fairground.files import CsvTable
from fairground.files import LockedError
from fairground.files import append_line
from fairground.files import cache_folder
from fairground.files import cannot_write
from fairground.files import file_digests
from fairground.files import held
from fairground.files import is_at_work
from fairground.files import open_file
from fairground.files import parse_json
from fairground.files import parse_with_digest
from fairground.files import put_away
from fairground.files import read_bytes
from fairground.files import read_json
from fairground.files import read_text
from fairground.files import read_with_digest
from fairground.files import reading
from fairground.files import require_file
from fairground.files import shown
from fairground.files import sweep
from fairground.files import write_atomically
from fairground.files import write_to_disk
from fairground.files import write_with_digest
from fairground.files import writing
from fairground.papers.expected_runs import ExpectedRuns
from fairground.papers.expected_runs import FREE
from fairground.papers.expected_runs import Mismatch
from fairground.papers.expected_runs import TRAINING
from fairground.papers.expected_runs import coverage_of
from fairground.papers.expected_runs import coverage_table
from fairground.papers.expected_runs import ensemble_protocol
from fairground.papers.expected_runs import mismatches
from fairground.papers.expected_runs import table_of
from fairground.papers.published_numbers import CLASSICS
from fairground.papers.published_numbers import Claim
from fairground.papers.published_numbers import PublishedRow
from fairground.papers.published_numbers import PublishedTable
from fairground.papers.published_numbers import SPREADS
from fairground.papers.published_numbers import SelectedOn
from fairground.papers.published_numbers import Spread
from fairground.papers.published_numbers import claimed_gain
from fairground.papers.published_numbers import claims_on
from fairground.papers.published_numbers import printed_elsewhere
from fairground.papers.published_numbers import published_errata
from fairground.papers.published_numbers import published_papers
from fairground.papers.published_numbers import published_rows
from fairground.papers.published_numbers import published_tables
from fairground.papers.published_numbers import published_years
from fairground.papers.published_numbers import read_csv
from fairground.papers.reproduction import Obstacle
from fairground.papers.reproduction import Outcome
from fairground.papers.reproduction import PublishedVerdict
from fairground.papers.reproduction import RESOLUTION
from fairground.papers.reproduction import UNTRAINED
from fairground.papers.reproduction import compare_with_published
from fairground.papers.reproduction import obstacles
from fairground.papers.reproduction import published_interval
from fairground.papers.reproduction import repeats_of
from fairground.papers.reproduction import rows_for
from fairground.papers.reproduction import verdict_of
from fairground.papers.reproduction import verdict_on_values

__all__ = [
    "CLASSICS",
    "Claim",
    "ClusterError",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "DivergedError",
    "ExpectedRuns",
    "FREE",
    "FairgroundError",
    "InputError",
    "LockedError",
    "Mismatch",
    "Obstacle",
    "Outcome",
    "PictureError",
    "PublishedRow",
    "PublishedTable",
    "PublishedVerdict",
    "RESOLUTION",
    "SPREADS",
    "SealError",
    "SelectedOn",
    "Spread",
    "StoreError",
    "TRAINING",
    "UNTRAINED",
    "append_line",
    "cache_folder",
    "cannot_write",
    "claimed_gain",
    "claims_on",
    "compare_with_published",
    "coverage_of",
    "coverage_table",
    "ensemble_protocol",
    "file_digests",
    "folded_name",
    "held",
    "is_at_work",
    "mismatches",
    "nearest",
    "obstacles",
    "open_file",
    "parse_json",
    "parse_with_digest",
    "printed_elsewhere",
    "published_errata",
    "published_interval",
    "published_papers",
    "published_rows",
    "published_tables",
    "published_years",
    "put_away",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "repeats_of",
    "require",
    "require_file",
    "require_within",
    "rows_for",
    "shown",
    "sweep",
    "table_of",
    "verdict_of",
    "verdict_on_values",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
