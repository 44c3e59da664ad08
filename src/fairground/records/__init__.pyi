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
from fairground.files import read_csv
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
from fairground.records.arrays import array_names
from fairground.records.arrays import map_array
from fairground.records.arrays import map_npy
from fairground.records.arrays import read_arrays
from fairground.records.arrays import write_arrays
from fairground.records.changed_code_and_data import ChangedError
from fairground.records.changed_code_and_data import Content
from fairground.records.changed_code_and_data import UNKNOWN
from fairground.records.changed_code_and_data import changes_in
from fairground.records.changed_code_and_data import content_of
from fairground.records.changed_code_and_data import fingerprint_of
from fairground.records.changed_code_and_data import require_unchanged
from fairground.records.current_record import Outcome
from fairground.records.current_record import outcome_of
from fairground.records.find_run import IMPORTED
from fairground.records.find_run import own_run
from fairground.records.find_run import resolve_run
from fairground.records.find_run import resolved
from fairground.records.imported_runs import COLUMNS
from fairground.records.imported_runs import records_of_csv
from fairground.records.provenance import Clock
from fairground.records.provenance import PACKAGES
from fairground.records.provenance import code_version
from fairground.records.record import EpochRow
from fairground.records.record import Finding
from fairground.records.record import KnownBug
from fairground.records.record import PretrainedWeights
from fairground.records.record import Provenance
from fairground.records.record import RECORD_VERSION
from fairground.records.record import RunRecord
from fairground.records.record import Score
from fairground.records.record import Selection
from fairground.records.record import SplitName
from fairground.records.record import State
from fairground.records.record import grouped
from fairground.records.record import one_of_each_spec
from fairground.records.run_folder import RunFolder
from fairground.records.run_folder import RunInProgress
from fairground.records.run_folder import checkpoints_newest_first
from fairground.records.run_folder import folder_names
from fairground.records.run_folder import locked
from fairground.records.run_folder import newest_checkpoint
from fairground.records.run_folder import run_in_progress
from fairground.records.run_folder import stored_spec
from fairground.records.store import AGAIN
from fairground.records.store import EVENTS
from fairground.records.store import FILE_NAME
from fairground.records.store import RunSummary
from fairground.records.store import Store
from fairground.records.store import changes
from fairground.records.training_events import BatchTrained
from fairground.records.training_events import EpochEnded
from fairground.records.training_events import ImagesPrepared
from fairground.records.training_events import Listener
from fairground.records.training_events import MeasuringStarted
from fairground.records.training_events import Note
from fairground.records.training_events import SignFound
from fairground.records.training_events import StagesCached

__all__ = [
    "AGAIN",
    "BatchTrained",
    "COLUMNS",
    "ChangedError",
    "Clock",
    "ClusterError",
    "Content",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "DivergedError",
    "EVENTS",
    "EpochEnded",
    "EpochRow",
    "FILE_NAME",
    "FairgroundError",
    "Finding",
    "IMPORTED",
    "ImagesPrepared",
    "InputError",
    "KnownBug",
    "Listener",
    "LockedError",
    "MeasuringStarted",
    "Note",
    "Outcome",
    "PACKAGES",
    "PictureError",
    "PretrainedWeights",
    "Provenance",
    "RECORD_VERSION",
    "RunFolder",
    "RunInProgress",
    "RunRecord",
    "RunSummary",
    "Score",
    "SealError",
    "Selection",
    "SignFound",
    "SplitName",
    "StagesCached",
    "State",
    "Store",
    "StoreError",
    "UNKNOWN",
    "append_line",
    "array_names",
    "cache_folder",
    "cannot_write",
    "changes",
    "changes_in",
    "checkpoints_newest_first",
    "code_version",
    "content_of",
    "file_digests",
    "fingerprint_of",
    "folded_name",
    "folder_names",
    "grouped",
    "held",
    "is_at_work",
    "locked",
    "map_array",
    "map_npy",
    "nearest",
    "newest_checkpoint",
    "one_of_each_spec",
    "open_file",
    "outcome_of",
    "own_run",
    "parse_json",
    "parse_with_digest",
    "put_away",
    "read_arrays",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "records_of_csv",
    "require",
    "require_file",
    "require_unchanged",
    "require_within",
    "resolve_run",
    "resolved",
    "run_in_progress",
    "shown",
    "stored_spec",
    "sweep",
    "write_arrays",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
