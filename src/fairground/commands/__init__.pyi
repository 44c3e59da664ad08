# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.commands.command import Answer
from fairground.commands.command import Command
from fairground.commands.command import options_of
from fairground.commands.command import printed
from fairground.commands.compare import MethodComparison
from fairground.commands.compare import compare_command
from fairground.commands.compare import comparison_of
from fairground.commands.compare import records_to_compare
from fairground.commands.data import caches
from fairground.commands.data import get_command
from fairground.commands.data import get_data
from fairground.commands.data_path import data_overrides
from fairground.commands.demo import BUDGET
from fairground.commands.demo import METHODS
from fairground.commands.embed import DATA_HELP
from fairground.commands.embed import MODEL_HELP
from fairground.commands.embed import SkipUnreadable
from fairground.commands.embed import readable_inputs
from fairground.commands.evaluate import Split
from fairground.commands.frontier import frontier_command
from fairground.commands.index import IndexFolder
from fairground.commands.index import add
from fairground.commands.index import build
from fairground.commands.interrupts import stop_flag
from fairground.commands.keyword_overrides import Setting
from fairground.commands.list import list_runs
from fairground.commands.list import list_things
from fairground.commands.load_model import LoadedModel
from fairground.commands.main import CommandGroup
from fairground.commands.main import LazyCommands
from fairground.commands.main import app
from fairground.commands.memory_allocator import keep_memory
from fairground.commands.options import Address
from fairground.commands.options import Again
from fairground.commands.options import AsJson
from fairground.commands.options import Average
from fairground.commands.options import Chosen
from fairground.commands.options import Config
from fairground.commands.options import Device
from fairground.commands.options import ExecutorName
from fairground.commands.options import GpusPerRun
from fairground.commands.options import Loggers
from fairground.commands.options import Metric
from fairground.commands.options import Metrics
from fairground.commands.options import Overrides
from fairground.commands.options import Quiet
from fairground.commands.options import Rerank
from fairground.commands.options import Slurm
from fairground.commands.options import Spawn
from fairground.commands.options import StudyAgain
from fairground.commands.options import Threads
from fairground.commands.options import WithDoctor
from fairground.commands.options import WorkerThreads
from fairground.commands.options import Workers
from fairground.commands.options import executor_of
from fairground.commands.options import split_names
from fairground.commands.recommend import RecommendResult
from fairground.commands.recommend import recommend_command
from fairground.commands.report import FIGURES
from fairground.commands.report import Report
from fairground.commands.report import TABLES
from fairground.commands.report import report_command
from fairground.commands.run_directory import AnyHome
from fairground.commands.run_directory import AnyPath
from fairground.commands.run_directory import HOME
from fairground.commands.run_directory import Home
from fairground.commands.run_directory import home_argument
from fairground.commands.run_directory import home_folder
from fairground.commands.runs import Run
from fairground.commands.runs import RunList
from fairground.commands.runs import data_frame
from fairground.commands.runs import import_command
from fairground.commands.runs import import_runs
from fairground.commands.runs import names_and_runs
from fairground.commands.runs import without_trials
from fairground.commands.show import record_lines
from fairground.commands.study import ACTIONS
from fairground.commands.study import StudyResult
from fairground.commands.study import find_study
from fairground.commands.study import run_found_study
from fairground.commands.study import run_specs
from fairground.commands.study import study_answer
from fairground.commands.study import study_command
from fairground.commands.terminal import Verbatim
from fairground.commands.terminal import aligned
from fairground.commands.terminal import card_text
from fairground.commands.terminal import complain
from fairground.commands.terminal import fitted
from fairground.commands.terminal import plural
from fairground.commands.terminal import prepare_streams
from fairground.commands.terminal import prints_on_stderr
from fairground.commands.terminal import screen_width
from fairground.commands.terminal import terminal_width
from fairground.commands.train import is_leader
from fairground.commands.train import resume
from fairground.commands.train import train_command
from fairground.commands.train import train_spec
from fairground.commands.training_and_study_progress import WIDE
from fairground.commands.training_and_study_progress import console
from fairground.commands.training_and_study_progress import counted
from fairground.commands.training_and_study_progress import search_progress
from fairground.commands.training_and_study_progress import shown
from fairground.commands.training_and_study_progress import spinner
from fairground.commands.training_and_study_progress import study_progress
from fairground.commands.training_and_study_progress import training_progress
from fairground.commands.weights import list_weights
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
from fairground.files import sweep
from fairground.files import write_atomically
from fairground.files import write_to_disk
from fairground.files import write_with_digest
from fairground.files import writing

__all__ = [
    "ACTIONS",
    "Address",
    "Again",
    "Answer",
    "AnyHome",
    "AnyPath",
    "AsJson",
    "Average",
    "BUDGET",
    "Chosen",
    "ClusterError",
    "Command",
    "CommandGroup",
    "Config",
    "CsvTable",
    "DATA_HELP",
    "DamageWarning",
    "DataError",
    "Device",
    "DivergedError",
    "ExecutorName",
    "FIGURES",
    "FairgroundError",
    "GpusPerRun",
    "HOME",
    "Home",
    "IndexFolder",
    "InputError",
    "LazyCommands",
    "LoadedModel",
    "LockedError",
    "Loggers",
    "METHODS",
    "MODEL_HELP",
    "MethodComparison",
    "Metric",
    "Metrics",
    "Overrides",
    "PictureError",
    "Quiet",
    "RecommendResult",
    "Report",
    "Rerank",
    "Run",
    "RunList",
    "SealError",
    "Setting",
    "SkipUnreadable",
    "Slurm",
    "Spawn",
    "Split",
    "StoreError",
    "StudyAgain",
    "StudyResult",
    "TABLES",
    "Threads",
    "Verbatim",
    "WIDE",
    "WithDoctor",
    "WorkerThreads",
    "Workers",
    "add",
    "aligned",
    "app",
    "append_line",
    "build",
    "cache_folder",
    "caches",
    "cannot_write",
    "card_text",
    "compare_command",
    "comparison_of",
    "complain",
    "console",
    "counted",
    "data_frame",
    "data_overrides",
    "executor_of",
    "file_digests",
    "find_study",
    "fitted",
    "folded_name",
    "frontier_command",
    "get_command",
    "get_data",
    "held",
    "home_argument",
    "home_folder",
    "import_command",
    "import_runs",
    "is_at_work",
    "is_leader",
    "keep_memory",
    "list_runs",
    "list_things",
    "list_weights",
    "names_and_runs",
    "nearest",
    "open_file",
    "options_of",
    "parse_json",
    "parse_with_digest",
    "plural",
    "prepare_streams",
    "printed",
    "prints_on_stderr",
    "put_away",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "readable_inputs",
    "reading",
    "recommend_command",
    "record_lines",
    "records_to_compare",
    "report_command",
    "require",
    "require_file",
    "require_within",
    "resume",
    "run_found_study",
    "run_specs",
    "screen_width",
    "search_progress",
    "shown",
    "spinner",
    "split_names",
    "stop_flag",
    "study_answer",
    "study_command",
    "study_progress",
    "sweep",
    "terminal_width",
    "train_command",
    "train_spec",
    "training_progress",
    "without_trials",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
