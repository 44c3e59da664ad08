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
from fairground.studies.plan import RunSpeed
from fairground.studies.plan import RunWork
from fairground.studies.plan import StudyPlan
from fairground.studies.plan import cost_probes
from fairground.studies.plan import measured_speeds
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
from fairground.studies.search_analysis import expected_best
from fairground.studies.search_analysis import importance
from fairground.studies.search_analysis import on_bounds
from fairground.studies.search_analysis import trace
from fairground.studies.study_folder import StudyFolder
from fairground.studies.study_folder import begun_hint
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
    "OPENED",
    "OnRecord",
    "PAUSE",
    "PictureError",
    "PlanRow",
    "Request",
    "Requests",
    "Result",
    "RunSpeed",
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
    "begun_hint",
    "begun_studies",
    "cost_probes",
    "counts",
    "direction_of",
    "expected_best",
    "failures_of",
    "finals_of",
    "find_begun",
    "folder_of",
    "frozen",
    "importance",
    "is_hopeless",
    "join_folds",
    "joined_record",
    "joined_spec",
    "measured_speeds",
    "next_settings",
    "on_bounds",
    "plan_of",
    "require",
    "require_within",
    "results_so_far",
    "run_finals",
    "search",
    "select",
    "status_of",
    "stored_study",
    "suggest",
    "trace",
    "wave_of",
    "waves_of",
    "waves_so_far",
    "with_procedures",
    "work_of",
]
