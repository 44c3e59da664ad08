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
from fairground.errors import require
from fairground.errors import require_within

__all__ = [
    "Audit",
    "AuditRows",
    "ClusterError",
    "Copies",
    "CopyPair",
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
    "MIN_BITS",
    "N_BITS",
    "PictureError",
    "Progress",
    "SHRINKAGE",
    "SealError",
    "StoreError",
    "THRESHOLD",
    "audit_in_detail",
    "count_bits",
    "exact_copies",
    "features_of",
    "find_near_duplicates",
    "fingerprint_bits",
    "label_suspects",
    "near_copies",
    "require",
    "require_within",
    "scan_images",
    "suspect_labels",
    "weakness",
    "write_clean",
    "write_findings",
]
