# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.spec.adaptation import ALL
from fairground.spec.adaptation import AdaptationSpec
from fairground.spec.card import changes
from fairground.spec.card import declaration
from fairground.spec.card import paper_settings
from fairground.spec.catalogue import ROOMS
from fairground.spec.catalogue import canonical
from fairground.spec.catalogue import class_name
from fairground.spec.catalogue import find
from fairground.spec.catalogue import lazy_names
from fairground.spec.catalogue import lazy_room
from fairground.spec.catalogue import list_names
from fairground.spec.catalogue import list_room
from fairground.spec.catalogue import nearest
from fairground.spec.declarations import Counts
from fairground.spec.declarations import Reference
from fairground.spec.declarations import SUPPLIED
from fairground.spec.declarations import Setting
from fairground.spec.declarations import check_settings
from fairground.spec.declarations import declared
from fairground.spec.declarations import reference_of
from fairground.spec.declarations import settings_of
from fairground.spec.identity import NAME_LENGTH
from fairground.spec.identity import OWN_DATA
from fairground.spec.identity import Purpose
from fairground.spec.identity import canonical_json
from fairground.spec.identity import child_seed
from fairground.spec.identity import data_name
from fairground.spec.identity import differing
from fairground.spec.identity import flatten
from fairground.spec.identity import hash_of
from fairground.spec.identity import method_name
from fairground.spec.identity import method_of
from fairground.spec.identity import name_of
from fairground.spec.identity import shared
from fairground.spec.identity import text_without_seed
from fairground.spec.identity import to_plain
from fairground.spec.load import COMMAND_LINE
from fairground.spec.load import DEFAULT_PROTOCOL
from fairground.spec.load import SHIPPED
from fairground.spec.load import load_run
from fairground.spec.load import presets
from fairground.spec.load import protocol_names
from fairground.spec.load import read_toml
from fairground.spec.load import run_from_plain
from fairground.spec.measurement_names import MetricDeclaration
from fairground.spec.measurement_names import ROOM
from fairground.spec.measurement_names import check_analyses
from fairground.spec.measurement_names import declared_metric
from fairground.spec.measurement_names import goodness
from fairground.spec.measurement_names import in_unit
from fairground.spec.measurement_names import is_share
from fairground.spec.measurement_names import read_analysis
from fairground.spec.measurement_names import refuse_unknown
from fairground.spec.measurement_names import spelled
from fairground.spec.run import ComponentSpec
from fairground.spec.run import EvaluationSpec
from fairground.spec.run import OPTIONAL
from fairground.spec.run import OptimiserSpec
from fairground.spec.run import ROOM_OF
from fairground.spec.run import RunSpec
from fairground.spec.run import TrainingSpec
from fairground.spec.run import check_bounds
from fairground.spec.settings import Kind
from fairground.spec.settings import LATER
from fairground.spec.settings import Overrides
from fairground.spec.settings import Value
from fairground.spec.settings import fit
from fairground.spec.settings import from_mapping
from fairground.spec.settings import override_text
from fairground.spec.settings import parse_override
from fairground.spec.settings import parse_overrides
from fairground.spec.settings import parse_value
from fairground.spec.space import Choice
from fairground.spec.space import Integer
from fairground.spec.space import LogReal
from fairground.spec.space import Range
from fairground.spec.space import Real
from fairground.spec.space import Unit
from fairground.spec.space import contains
from fairground.spec.space import end_of
from fairground.spec.space import grid_of
from fairground.spec.space import range_for
from fairground.spec.space import range_from_plain
from fairground.spec.space import rounded
from fairground.spec.space import value_at
from fairground.spec.study import BudgetSpec
from fairground.spec.study import DataSpec
from fairground.spec.study import FoldsSpec
from fairground.spec.study import LOSS_RATE
from fairground.spec.study import MethodSpec
from fairground.spec.study import SearchProcedure
from fairground.spec.study import SearchSpec
from fairground.spec.study import SeedProcedure
from fairground.spec.study import SelectionSpec
from fairground.spec.study import StudyJob
from fairground.spec.study import StudySpec
from fairground.spec.study import UNSAID
from fairground.spec.study import UntilSettledSpec
from fairground.spec.study import jobs_of
from fairground.spec.study import study_hash
from fairground.spec.study_load import load_study
from fairground.spec.study_load import read_range
from fairground.spec.study_load import study_from_plain
from fairground.spec.study_load import study_names

__all__ = [
    "ALL",
    "AdaptationSpec",
    "BudgetSpec",
    "COMMAND_LINE",
    "Choice",
    "ComponentSpec",
    "Counts",
    "DEFAULT_PROTOCOL",
    "DataSpec",
    "EvaluationSpec",
    "FoldsSpec",
    "Integer",
    "Kind",
    "LATER",
    "LOSS_RATE",
    "LogReal",
    "MethodSpec",
    "MetricDeclaration",
    "NAME_LENGTH",
    "OPTIONAL",
    "OWN_DATA",
    "OptimiserSpec",
    "Overrides",
    "Purpose",
    "ROOM",
    "ROOMS",
    "ROOM_OF",
    "Range",
    "Real",
    "Reference",
    "RunSpec",
    "SHIPPED",
    "SUPPLIED",
    "SearchProcedure",
    "SearchSpec",
    "SeedProcedure",
    "SelectionSpec",
    "Setting",
    "StudyJob",
    "StudySpec",
    "TrainingSpec",
    "UNSAID",
    "Unit",
    "UntilSettledSpec",
    "Value",
    "canonical",
    "canonical_json",
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
    "differing",
    "end_of",
    "find",
    "fit",
    "flatten",
    "from_mapping",
    "goodness",
    "grid_of",
    "hash_of",
    "in_unit",
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
    "override_text",
    "paper_settings",
    "parse_override",
    "parse_overrides",
    "parse_value",
    "presets",
    "protocol_names",
    "range_for",
    "range_from_plain",
    "read_analysis",
    "read_range",
    "read_toml",
    "reference_of",
    "refuse_unknown",
    "rounded",
    "run_from_plain",
    "settings_of",
    "shared",
    "spelled",
    "study_from_plain",
    "study_hash",
    "study_names",
    "text_without_seed",
    "to_plain",
    "value_at",
]
