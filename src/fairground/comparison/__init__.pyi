# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.comparison.compare_values import Findings
from fairground.comparison.compare_values import Model
from fairground.comparison.compare_values import PairsAsked
from fairground.comparison.compare_values import check_settings
from fairground.comparison.compare_values import compare_runs
from fairground.comparison.compare_values import conclude
from fairground.comparison.compare_values import default_margin
from fairground.comparison.compare_values import fit
from fairground.comparison.comparison_result import Comparison
from fairground.comparison.comparison_result import Estimate
from fairground.comparison.comparison_result import GeneralityKind
from fairground.comparison.comparison_result import Interval
from fairground.comparison.comparison_result import LEVEL
from fairground.comparison.comparison_result import Pair
from fairground.comparison.comparison_result import Prospect
from fairground.comparison.comparison_result import Reason
from fairground.comparison.comparison_result import Repeats
from fairground.comparison.comparison_result import Show
from fairground.comparison.comparison_result import Verdict
from fairground.comparison.comparison_result import correlation_interval
from fairground.comparison.comparison_result import join_words
from fairground.comparison.comparison_result import no_verdict_on
from fairground.comparison.comparison_result import sentence_of
from fairground.comparison.comparison_result import shown_p
from fairground.comparison.comparison_result import t_interval
from fairground.comparison.fairness_rules import ANYTHING
from fairground.comparison.fairness_rules import COMPARED
from fairground.comparison.fairness_rules import Difference
from fairground.comparison.fairness_rules import Evidence
from fairground.comparison.fairness_rules import OR
from fairground.comparison.fairness_rules import RULES
from fairground.comparison.fairness_rules import Rule
from fairground.comparison.fairness_rules import UNSAID
from fairground.comparison.fairness_rules import find_differences
from fairground.comparison.fairness_rules import is_measured_raw
from fairground.comparison.fairness_rules import is_under
from fairground.comparison.fairness_warnings import CLUSTERING
from fairground.comparison.fairness_warnings import FAR_LESS
from fairground.comparison.fairness_warnings import FLAGS
from fairground.comparison.fairness_warnings import FULL
from fairground.comparison.fairness_warnings import FairnessResult
from fairground.comparison.fairness_warnings import Flag
from fairground.comparison.fairness_warnings import FlagRule
from fairground.comparison.fairness_warnings import Found
from fairground.comparison.fairness_warnings import by_a_weak_metric
from fairground.comparison.fairness_warnings import check_fairness
from fairground.comparison.fairness_warnings import clustered_once
from fairground.comparison.fairness_warnings import images_per_class
from fairground.comparison.fairness_warnings import imported_numbers
from fairground.comparison.fairness_warnings import measured_raw
from fairground.comparison.fairness_warnings import not_trained
from fairground.comparison.fairness_warnings import on_a_bound
from fairground.comparison.fairness_warnings import on_a_closed_set
from fairground.comparison.fairness_warnings import other_devices
from fairground.comparison.fairness_warnings import other_environments
from fairground.comparison.fairness_warnings import other_seeds
from fairground.comparison.fairness_warnings import other_threads
from fairground.comparison.fairness_warnings import overlapping_claims
from fairground.comparison.fairness_warnings import run_once
from fairground.comparison.fairness_warnings import seeds_in_waves
from fairground.comparison.fairness_warnings import selected_on_test
from fairground.comparison.fairness_warnings import tuned_less
from fairground.comparison.fairness_warnings import unfinished
from fairground.comparison.fairness_warnings import watched_test
from fairground.comparison.fairness_warnings import with_known_bugs
from fairground.comparison.fold_averages import fold_groups
from fairground.comparison.fold_averages import join_folds
from fairground.comparison.fold_averages import seed_of
from fairground.comparison.generality import Generality
from fairground.comparison.generality import PerClass
from fairground.comparison.generality import generality_of
from fairground.comparison.null_distribution import CAUTION
from fairground.comparison.null_distribution import DRAWS
from fairground.comparison.null_distribution import FEWEST
from fairground.comparison.null_distribution import NullDistribution
from fairground.comparison.null_distribution import SPREAD
from fairground.comparison.null_distribution import critical_value
from fairground.comparison.null_distribution import null_distribution_of
from fairground.comparison.null_distribution import p_values
from fairground.comparison.null_distribution import range_reached
from fairground.comparison.null_distribution import shares_of_best
from fairground.comparison.null_distribution import t_statistics
from fairground.comparison.over_datasets import Aggregate
from fairground.comparison.over_datasets import OverDatasets
from fairground.comparison.over_datasets import RESAMPLES
from fairground.comparison.over_datasets import ranks_of
from fairground.comparison.paired_table import Array
from fairground.comparison.paired_table import Layout
from fairground.comparison.paired_table import Mask
from fairground.comparison.paired_table import MeanWeights
from fairground.comparison.paired_table import RATIOS
from fairground.comparison.paired_table import Runs
from fairground.comparison.paired_table import Values
from fairground.comparison.paired_table import is_complete
from fairground.comparison.paired_table import layout_of
from fairground.comparison.pooled_variance import PRIOR
from fairground.comparison.pooled_variance import Scatter
from fairground.comparison.pooled_variance import scatter_of
from fairground.comparison.seed_waves import SPENDING
from fairground.comparison.seed_waves import Wave
from fairground.comparison.seed_waves import compare_in_waves
from fairground.comparison.seed_waves import errors_of
from fairground.comparison.seed_waves import in_question
from fairground.comparison.seed_waves import look
from fairground.comparison.seed_waves import next_wave
from fairground.comparison.seeds_needed import POWER
from fairground.comparison.seeds_needed import REACH
from fairground.comparison.seeds_needed import more_seeds
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
    "ANYTHING",
    "Aggregate",
    "Array",
    "CAUTION",
    "CLUSTERING",
    "COMPARED",
    "ClusterError",
    "Comparison",
    "CsvTable",
    "DRAWS",
    "DamageWarning",
    "DataError",
    "Difference",
    "DivergedError",
    "Estimate",
    "Evidence",
    "FAR_LESS",
    "FEWEST",
    "FLAGS",
    "FULL",
    "FairgroundError",
    "FairnessResult",
    "Findings",
    "Flag",
    "FlagRule",
    "Found",
    "Generality",
    "GeneralityKind",
    "InputError",
    "Interval",
    "LEVEL",
    "Layout",
    "LockedError",
    "Mask",
    "MeanWeights",
    "Model",
    "NullDistribution",
    "OR",
    "OverDatasets",
    "POWER",
    "PRIOR",
    "Pair",
    "PairsAsked",
    "PerClass",
    "PictureError",
    "Prospect",
    "RATIOS",
    "REACH",
    "RESAMPLES",
    "RULES",
    "Reason",
    "Repeats",
    "Rule",
    "Runs",
    "SPENDING",
    "SPREAD",
    "Scatter",
    "SealError",
    "Show",
    "StoreError",
    "UNSAID",
    "Values",
    "Verdict",
    "Wave",
    "append_line",
    "by_a_weak_metric",
    "cache_folder",
    "cannot_write",
    "check_fairness",
    "check_settings",
    "clustered_once",
    "compare_in_waves",
    "compare_runs",
    "conclude",
    "correlation_interval",
    "critical_value",
    "default_margin",
    "errors_of",
    "file_digests",
    "find_differences",
    "fit",
    "fold_groups",
    "folded_name",
    "generality_of",
    "held",
    "images_per_class",
    "imported_numbers",
    "in_question",
    "is_at_work",
    "is_complete",
    "is_measured_raw",
    "is_under",
    "join_folds",
    "join_words",
    "layout_of",
    "look",
    "measured_raw",
    "more_seeds",
    "nearest",
    "next_wave",
    "no_verdict_on",
    "not_trained",
    "null_distribution_of",
    "on_a_bound",
    "on_a_closed_set",
    "open_file",
    "other_devices",
    "other_environments",
    "other_seeds",
    "other_threads",
    "overlapping_claims",
    "p_values",
    "parse_json",
    "parse_with_digest",
    "put_away",
    "range_reached",
    "ranks_of",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "require",
    "require_file",
    "require_within",
    "run_once",
    "scatter_of",
    "seed_of",
    "seeds_in_waves",
    "selected_on_test",
    "sentence_of",
    "shares_of_best",
    "shown",
    "shown_p",
    "sweep",
    "t_interval",
    "t_statistics",
    "tuned_less",
    "unfinished",
    "watched_test",
    "with_known_bugs",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
