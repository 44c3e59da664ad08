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
from fairground.errors import require
from fairground.errors import require_within
from fairground.papers.claims import CLASSICS
from fairground.papers.claims import Claim
from fairground.papers.claims import claimed_gain
from fairground.papers.claims import claims_on
from fairground.papers.expected_runs import ExpectedRuns
from fairground.papers.expected_runs import FREE
from fairground.papers.expected_runs import Mismatch
from fairground.papers.expected_runs import TRAINING
from fairground.papers.expected_runs import coverage_of
from fairground.papers.expected_runs import coverage_table
from fairground.papers.expected_runs import ensemble_protocol
from fairground.papers.expected_runs import mismatches
from fairground.papers.expected_runs import table_of
from fairground.papers.published_numbers import PublishedRow
from fairground.papers.published_numbers import PublishedTable
from fairground.papers.published_numbers import SPREADS
from fairground.papers.published_numbers import SelectedOn
from fairground.papers.published_numbers import Spread
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
    "DamageWarning",
    "DataError",
    "DivergedError",
    "ExpectedRuns",
    "FREE",
    "FairgroundError",
    "InputError",
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
    "claimed_gain",
    "claims_on",
    "compare_with_published",
    "coverage_of",
    "coverage_table",
    "ensemble_protocol",
    "mismatches",
    "obstacles",
    "printed_elsewhere",
    "published_errata",
    "published_interval",
    "published_papers",
    "published_rows",
    "published_tables",
    "published_years",
    "read_csv",
    "repeats_of",
    "require",
    "require_within",
    "rows_for",
    "table_of",
    "verdict_of",
    "verdict_on_values",
]
