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
from fairground.loading.caches import CacheEntry
from fairground.loading.caches import CacheKind
from fairground.loading.caches import INDEX
from fairground.loading.caches import USED
from fairground.loading.caches import cache_root
from fairground.loading.caches import list_caches
from fairground.loading.caches import read_index
from fairground.loading.caches import touch
from fairground.loading.checksummed_cache import CachedRows
from fairground.loading.checksummed_cache import cache_writing
from fairground.loading.class_folders import ClassFolders
from fairground.loading.class_folders import SUFFIXES
from fairground.loading.class_folders import files_below
from fairground.loading.class_folders import is_image_name
from fairground.loading.class_folders import refuse_archive
from fairground.loading.class_folders import scan_classes
from fairground.loading.class_folders import sub_folders
from fairground.loading.csv_columns import Columns
from fairground.loading.csv_columns import PARTS
from fairground.loading.csv_columns import classes_of
from fairground.loading.csv_columns import held_out
from fairground.loading.csv_columns import parts_from_words
from fairground.loading.csv_columns import read_columns
from fairground.loading.csv_columns import read_parquet
from fairground.loading.decoding import MAX_PIXELS
from fairground.loading.decoding import open_picture
from fairground.loading.decoding import picture_size
from fairground.loading.downloads import Archive
from fairground.loading.downloads import DOWNLOADS
from fairground.loading.downloads import Download
from fairground.loading.downloads import fetch_dataset
from fairground.loading.downloads import files_to_get
from fairground.loading.image_dataset import FeatureRows
from fairground.loading.image_dataset import ImageFiles
from fairground.loading.image_dataset import ImagesInMemory
from fairground.loading.image_dataset import OfficialDataset
from fairground.loading.image_dataset import PhotoDataset
from fairground.loading.image_dataset import Photographs
from fairground.loading.image_dataset import class_folder_table
from fairground.loading.image_dataset import first_with
from fairground.loading.image_dataset import integers
from fairground.loading.image_dataset import photo_table
from fairground.loading.image_dataset import read_words
from fairground.loading.image_dataset import shrunk_picture
from fairground.loading.object_dataset import ImagesOnDemand
from fairground.loading.object_dataset import ObjectDataset
from fairground.loading.prepared_images import PreparedImages
from fairground.loading.reading_threads import Result
from fairground.loading.reading_threads import Thing
from fairground.loading.reading_threads import for_each
from fairground.loading.reading_threads import n_threads
from fairground.loading.reading_threads import read_ahead
from fairground.loading.transform_steps import Box
from fairground.loading.transform_steps import PhotographTransform
from fairground.loading.transform_steps import brighten
from fairground.loading.transform_steps import central_boxes
from fairground.loading.transform_steps import contrast
from fairground.loading.transform_steps import crop_batch
from fairground.loading.transform_steps import cut
from fairground.loading.transform_steps import gray
from fairground.loading.transform_steps import jitter
from fairground.loading.transform_steps import jitter_draws
from fairground.loading.transform_steps import mirror
from fairground.loading.transform_steps import random_boxes
from fairground.loading.transform_steps import random_flips
from fairground.loading.transform_steps import random_resized_boxes
from fairground.loading.transform_steps import require_one_size
from fairground.loading.transform_steps import resize_shorter_side
from fairground.loading.transform_steps import resized_sizes
from fairground.loading.transform_steps import saturate
from fairground.loading.transform_steps import to_device
from fairground.loading.transform_steps import turn_hue

__all__ = [
    "Archive",
    "Box",
    "CacheEntry",
    "CacheKind",
    "CachedRows",
    "ClassFolders",
    "ClusterError",
    "Columns",
    "CsvTable",
    "DOWNLOADS",
    "DamageWarning",
    "DataError",
    "DivergedError",
    "Download",
    "FairgroundError",
    "FeatureRows",
    "INDEX",
    "ImageFiles",
    "ImagesInMemory",
    "ImagesOnDemand",
    "InputError",
    "LockedError",
    "MAX_PIXELS",
    "ObjectDataset",
    "OfficialDataset",
    "PARTS",
    "PhotoDataset",
    "PhotographTransform",
    "Photographs",
    "PictureError",
    "PreparedImages",
    "Result",
    "SUFFIXES",
    "SealError",
    "StoreError",
    "Thing",
    "USED",
    "append_line",
    "brighten",
    "cache_folder",
    "cache_root",
    "cache_writing",
    "cannot_write",
    "central_boxes",
    "class_folder_table",
    "classes_of",
    "contrast",
    "crop_batch",
    "cut",
    "fetch_dataset",
    "file_digests",
    "files_below",
    "files_to_get",
    "first_with",
    "folded_name",
    "for_each",
    "gray",
    "held",
    "held_out",
    "integers",
    "is_at_work",
    "is_image_name",
    "jitter",
    "jitter_draws",
    "list_caches",
    "mirror",
    "n_threads",
    "nearest",
    "open_file",
    "open_picture",
    "parse_json",
    "parse_with_digest",
    "parts_from_words",
    "photo_table",
    "picture_size",
    "put_away",
    "random_boxes",
    "random_flips",
    "random_resized_boxes",
    "read_ahead",
    "read_bytes",
    "read_columns",
    "read_csv",
    "read_index",
    "read_json",
    "read_parquet",
    "read_text",
    "read_with_digest",
    "read_words",
    "reading",
    "refuse_archive",
    "require",
    "require_file",
    "require_one_size",
    "require_within",
    "resize_shorter_side",
    "resized_sizes",
    "saturate",
    "scan_classes",
    "shown",
    "shrunk_picture",
    "sub_folders",
    "sweep",
    "to_device",
    "touch",
    "turn_hue",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
