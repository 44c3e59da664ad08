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
from fairground.studies.final_runs import FinalRuns
from fairground.studies.final_runs import finals_of
from fairground.studies.final_runs import run_finals
from fairground.studies.final_runs import wave_of
from fairground.studies.final_runs import waves_of
from fairground.studies.hyperparameter_search import direction_of
from fairground.studies.hyperparameter_search import frozen
from fairground.studies.hyperparameter_search import next_settings
from fairground.studies.hyperparameter_search import search
from fairground.studies.hyperparameter_search import suggest
from fairground.studies.joined_folds import JOIN_JOB
from fairground.studies.joined_folds import join_folds
from fairground.studies.joined_folds import joined_record
from fairground.studies.joined_folds import joined_spec
from fairground.studies.plan import PlanRow
from fairground.studies.plan import RunWork
from fairground.studies.plan import StudyPlan
from fairground.studies.plan import cost_probes
from fairground.studies.plan import plan_of
from fairground.studies.plan import work_of
from fairground.studies.pruning import LEAST_FINISHED
from fairground.studies.pruning import is_hopeless
from fairground.studies.run_study import JobResult
from fairground.studies.run_study import JobStatus
from fairground.studies.run_study import Spawn
from fairground.studies.run_study import StudyFailures
from fairground.studies.run_study import failures_of
from fairground.studies.run_study import results_so_far
from fairground.studies.run_study import status_of
from fairground.studies.run_study import waves_so_far
from fairground.studies.scheduler import JOB
from fairground.studies.scheduler import OnRecord
from fairground.studies.scheduler import PAUSE
from fairground.studies.scheduler import Request
from fairground.studies.scheduler import Requests
from fairground.studies.scheduler import Result
from fairground.studies.scheduler import Scheduler
from fairground.studies.scheduler import with_procedures
from fairground.studies.seal import OPENED
from fairground.studies.seal import SELECTED
from fairground.studies.seal import Seal
from fairground.studies.search_analysis import TracePoint
from fairground.studies.search_analysis import importance
from fairground.studies.search_analysis import on_bounds
from fairground.studies.search_analysis import trace
from fairground.studies.study_folder import StudyFolder
from fairground.studies.study_folder import begun_studies
from fairground.studies.study_folder import find_begun
from fairground.studies.study_folder import folder_of
from fairground.studies.study_folder import stored_study
from fairground.studies.trials import ENDED
from fairground.studies.trials import Selected
from fairground.studies.trials import Trial
from fairground.studies.trials import TrialState
from fairground.studies.trials import TrialStore
from fairground.studies.trials import counts
from fairground.studies.trials import select

__all__ = [
    "ClusterError",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "DivergedError",
    "ENDED",
    "FairgroundError",
    "FinalRuns",
    "InputError",
    "JOB",
    "JOIN_JOB",
    "JobResult",
    "JobStatus",
    "LEAST_FINISHED",
    "LockedError",
    "OPENED",
    "OnRecord",
    "PAUSE",
    "PictureError",
    "PlanRow",
    "Request",
    "Requests",
    "Result",
    "RunWork",
    "SELECTED",
    "Scheduler",
    "Seal",
    "SealError",
    "Selected",
    "Spawn",
    "StoreError",
    "StudyFailures",
    "StudyFolder",
    "StudyPlan",
    "TracePoint",
    "Trial",
    "TrialState",
    "TrialStore",
    "append_line",
    "begun_studies",
    "cache_folder",
    "cannot_write",
    "cost_probes",
    "counts",
    "direction_of",
    "failures_of",
    "file_digests",
    "finals_of",
    "find_begun",
    "folded_name",
    "folder_of",
    "frozen",
    "held",
    "importance",
    "is_at_work",
    "is_hopeless",
    "join_folds",
    "joined_record",
    "joined_spec",
    "nearest",
    "next_settings",
    "on_bounds",
    "open_file",
    "parse_json",
    "parse_with_digest",
    "plan_of",
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
    "results_so_far",
    "run_finals",
    "search",
    "select",
    "shown",
    "status_of",
    "stored_study",
    "suggest",
    "sweep",
    "trace",
    "wave_of",
    "waves_of",
    "waves_so_far",
    "with_procedures",
    "work_of",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
