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
from fairground.spec.adaptation_spec import AdaptationSpec
from fairground.spec.adaptation_spec import Trains
from fairground.spec.catalogue import OBJECTS
from fairground.spec.catalogue import ROOMS
from fairground.spec.catalogue import canonical
from fairground.spec.catalogue import class_name
from fairground.spec.catalogue import find
from fairground.spec.catalogue import find_outside
from fairground.spec.catalogue import lazy_names
from fairground.spec.catalogue import lazy_room
from fairground.spec.catalogue import list_names
from fairground.spec.catalogue import list_room
from fairground.spec.declaration_card import card_of
from fairground.spec.declaration_card import changes
from fairground.spec.declaration_card import declaration
from fairground.spec.declaration_card import paper_settings
from fairground.spec.declarations import CAME_LATER
from fairground.spec.declarations import Counts
from fairground.spec.declarations import Reference
from fairground.spec.declarations import SUPPLIED
from fairground.spec.declarations import Setting
from fairground.spec.declarations import check_settings
from fairground.spec.declarations import declared
from fairground.spec.declarations import reference_of
from fairground.spec.declarations import settings_of
from fairground.spec.grid_search import grid_of
from fairground.spec.load_run_spec import COMMAND_LINE
from fairground.spec.load_run_spec import DEFAULT_PROTOCOL
from fairground.spec.load_run_spec import UNSAID
from fairground.spec.load_run_spec import load_run
from fairground.spec.load_run_spec import run_from_plain
from fairground.spec.load_study_spec import load_study
from fairground.spec.load_study_spec import read_range
from fairground.spec.load_study_spec import study_from_plain
from fairground.spec.load_study_spec import study_names
from fairground.spec.metric_names import MetricDeclaration
from fairground.spec.metric_names import RERANKINGS
from fairground.spec.metric_names import ROOM
from fairground.spec.metric_names import check_analyses
from fairground.spec.metric_names import declared_metric
from fairground.spec.metric_names import goodness
from fairground.spec.metric_names import in_unit
from fairground.spec.metric_names import is_share
from fairground.spec.metric_names import read_analysis
from fairground.spec.metric_names import refuse_unknown
from fairground.spec.metric_names import reranking_of
from fairground.spec.metric_names import spelled
from fairground.spec.metric_names import without_reranking
from fairground.spec.override_layers import SpecDraft
from fairground.spec.protocols_and_presets import PAPER_OF
from fairground.spec.protocols_and_presets import SHIPPED
from fairground.spec.protocols_and_presets import flat_tables
from fairground.spec.protocols_and_presets import preset_of
from fairground.spec.protocols_and_presets import presets
from fairground.spec.protocols_and_presets import protocol_names
from fairground.spec.protocols_and_presets import protocol_table
from fairground.spec.protocols_and_presets import protocol_texts
from fairground.spec.protocols_and_presets import read_toml
from fairground.spec.random_streams import Purpose
from fairground.spec.random_streams import child_seed
from fairground.spec.run_and_method_names import NAME_LENGTH
from fairground.spec.run_and_method_names import OWN_DATA
from fairground.spec.run_and_method_names import canonical_json
from fairground.spec.run_and_method_names import data_name
from fairground.spec.run_and_method_names import hash_of
from fairground.spec.run_and_method_names import method_name
from fairground.spec.run_and_method_names import method_of
from fairground.spec.run_and_method_names import name_of
from fairground.spec.run_and_method_names import to_plain
from fairground.spec.run_and_method_names import without_fold
from fairground.spec.run_spec import ComponentSpec
from fairground.spec.run_spec import EvaluationSpec
from fairground.spec.run_spec import OPTIMISERS
from fairground.spec.run_spec import OPTIONAL
from fairground.spec.run_spec import OptimiserSpec
from fairground.spec.run_spec import Precision
from fairground.spec.run_spec import ROOM_OF
from fairground.spec.run_spec import RunSpec
from fairground.spec.run_spec import TrainingSpec
from fairground.spec.run_spec import check_bounds
from fairground.spec.search_ranges import Choice
from fairground.spec.search_ranges import Integer
from fairground.spec.search_ranges import LogReal
from fairground.spec.search_ranges import Range
from fairground.spec.search_ranges import Real
from fairground.spec.search_ranges import Unit
from fairground.spec.search_ranges import contains
from fairground.spec.search_ranges import end_of
from fairground.spec.search_ranges import range_for
from fairground.spec.search_ranges import range_from_plain
from fairground.spec.search_ranges import rounded
from fairground.spec.search_ranges import value_at
from fairground.spec.settings import LATER
from fairground.spec.settings import Overrides
from fairground.spec.settings import Value
from fairground.spec.settings import differing
from fairground.spec.settings import fit
from fairground.spec.settings import flatten
from fairground.spec.settings import from_mapping
from fairground.spec.settings import from_plain
from fairground.spec.settings import override_text
from fairground.spec.settings import parse_override
from fairground.spec.settings import parse_overrides
from fairground.spec.settings import parse_value
from fairground.spec.settings import shared
from fairground.spec.study_spec import BudgetSpec
from fairground.spec.study_spec import DataSpec
from fairground.spec.study_spec import FoldsSpec
from fairground.spec.study_spec import LOSS_RATE
from fairground.spec.study_spec import MethodSpec
from fairground.spec.study_spec import SearchProcedure
from fairground.spec.study_spec import SearchSpec
from fairground.spec.study_spec import SeedProcedure
from fairground.spec.study_spec import SelectionSpec
from fairground.spec.study_spec import StudyJob
from fairground.spec.study_spec import StudySpec
from fairground.spec.study_spec import UntilSettledSpec
from fairground.spec.study_spec import jobs_of
from fairground.spec.study_spec import study_hash
from fairground.spec.text_and_code import Difference
from fairground.spec.text_and_code import Reading
from fairground.spec.text_and_code import differences
from fairground.spec.text_and_code import settings_as
from fairground.spec.text_and_code import text_of_preset

__all__ = [
    "AdaptationSpec",
    "BudgetSpec",
    "CAME_LATER",
    "COMMAND_LINE",
    "Choice",
    "ClusterError",
    "ComponentSpec",
    "Counts",
    "CsvTable",
    "DEFAULT_PROTOCOL",
    "DamageWarning",
    "DataError",
    "DataSpec",
    "Difference",
    "DivergedError",
    "EvaluationSpec",
    "FairgroundError",
    "FoldsSpec",
    "InputError",
    "Integer",
    "LATER",
    "LOSS_RATE",
    "LockedError",
    "LogReal",
    "MethodSpec",
    "MetricDeclaration",
    "NAME_LENGTH",
    "OBJECTS",
    "OPTIMISERS",
    "OPTIONAL",
    "OWN_DATA",
    "OptimiserSpec",
    "Overrides",
    "PAPER_OF",
    "PictureError",
    "Precision",
    "Purpose",
    "RERANKINGS",
    "ROOM",
    "ROOMS",
    "ROOM_OF",
    "Range",
    "Reading",
    "Real",
    "Reference",
    "RunSpec",
    "SHIPPED",
    "SUPPLIED",
    "SealError",
    "SearchProcedure",
    "SearchSpec",
    "SeedProcedure",
    "SelectionSpec",
    "Setting",
    "SpecDraft",
    "StoreError",
    "StudyJob",
    "StudySpec",
    "TrainingSpec",
    "Trains",
    "UNSAID",
    "Unit",
    "UntilSettledSpec",
    "Value",
    "append_line",
    "cache_folder",
    "cannot_write",
    "canonical",
    "canonical_json",
    "card_of",
    "changes",
    "check_analyses",
    "check_bounds",
    "check_settings",
    "child_seed",
    "class_name",
    "contains",
    "data_name",
    "declaration",
    "declared",
    "declared_metric",
    "differences",
    "differing",
    "end_of",
    "file_digests",
    "find",
    "find_outside",
    "fit",
    "flat_tables",
    "flatten",
    "folded_name",
    "from_mapping",
    "from_plain",
    "goodness",
    "grid_of",
    "hash_of",
    "held",
    "in_unit",
    "is_at_work",
    "is_share",
    "jobs_of",
    "lazy_names",
    "lazy_room",
    "list_names",
    "list_room",
    "load_run",
    "load_study",
    "method_name",
    "method_of",
    "name_of",
    "nearest",
    "open_file",
    "override_text",
    "paper_settings",
    "parse_json",
    "parse_override",
    "parse_overrides",
    "parse_value",
    "parse_with_digest",
    "preset_of",
    "presets",
    "protocol_names",
    "protocol_table",
    "protocol_texts",
    "put_away",
    "range_for",
    "range_from_plain",
    "read_analysis",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_range",
    "read_text",
    "read_toml",
    "read_with_digest",
    "reading",
    "reference_of",
    "refuse_unknown",
    "require",
    "require_file",
    "require_within",
    "reranking_of",
    "rounded",
    "run_from_plain",
    "settings_as",
    "settings_of",
    "shared",
    "shown",
    "spelled",
    "study_from_plain",
    "study_hash",
    "study_names",
    "sweep",
    "text_of_preset",
    "to_plain",
    "value_at",
    "without_fold",
    "without_reranking",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
