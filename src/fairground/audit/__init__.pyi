# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.audit.audit import Audit
from fairground.audit.audit import audit_in_detail
from fairground.audit.audit import write_clean
from fairground.audit.audit import write_findings
from fairground.audit.copies import AuditRows
from fairground.audit.copies import Copies
from fairground.audit.copies import CopyPair
from fairground.audit.copies import MIN_BITS
from fairground.audit.copies import N_BITS
from fairground.audit.copies import THRESHOLD
from fairground.audit.copies import count_bits
from fairground.audit.copies import exact_copies
from fairground.audit.copies import find_near_duplicates
from fairground.audit.copies import near_copies
from fairground.audit.image_scan import ImageScan
from fairground.audit.image_scan import Progress
from fairground.audit.image_scan import fingerprint_bits
from fairground.audit.image_scan import scan_images
from fairground.audit.label_errors import DIM
from fairground.audit.label_errors import FOLDS
from fairground.audit.label_errors import LabelSuspect
from fairground.audit.label_errors import LabelSuspicion
from fairground.audit.label_errors import SHRINKAGE
from fairground.audit.label_errors import features_of
from fairground.audit.label_errors import label_suspects
from fairground.audit.label_errors import suspect_labels
from fairground.audit.label_errors import weakness
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

__all__ = [
    "Audit",
    "AuditRows",
    "ClusterError",
    "Copies",
    "CopyPair",
    "CsvTable",
    "DIM",
    "DamageWarning",
    "DataError",
    "DivergedError",
    "FOLDS",
    "FairgroundError",
    "ImageScan",
    "InputError",
    "LabelSuspect",
    "LabelSuspicion",
    "LockedError",
    "MIN_BITS",
    "N_BITS",
    "PictureError",
    "Progress",
    "SHRINKAGE",
    "SealError",
    "StoreError",
    "THRESHOLD",
    "append_line",
    "audit_in_detail",
    "cache_folder",
    "cannot_write",
    "count_bits",
    "exact_copies",
    "features_of",
    "file_digests",
    "find_near_duplicates",
    "fingerprint_bits",
    "folded_name",
    "held",
    "is_at_work",
    "label_suspects",
    "near_copies",
    "nearest",
    "open_file",
    "parse_json",
    "parse_with_digest",
    "put_away",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "require",
    "require_file",
    "require_within",
    "scan_images",
    "shown",
    "suspect_labels",
    "sweep",
    "weakness",
    "write_atomically",
    "write_clean",
    "write_findings",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
