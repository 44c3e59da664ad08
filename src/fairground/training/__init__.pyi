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
from fairground.training.adaptation import ALWAYS
from fairground.training.adaptation import Adaptation
from fairground.training.adaptation import AdaptedModel
from fairground.training.adaptation import BLOCK
from fairground.training.adaptation import BLOCK_ON_DEVICE
from fairground.training.adaptation import CroppedMaps
from fairground.training.adaptation import IGNORED
from fairground.training.adaptation import IsTime
from fairground.training.adaptation import KEPT_STARTS
from fairground.training.adaptation import LAST_STAGES
from fairground.training.adaptation import LEAST_CROP
from fairground.training.adaptation import MOST_FITTED
from fairground.training.adaptation import PER_CLASS
from fairground.training.adaptation import Tell
from fairground.training.adaptation import WARMUP
from fairground.training.adaptation import Workbench
from fairground.training.adaptation import fit_head
from fairground.training.adaptation import past_frozen
from fairground.training.adaptation import round_robin
from fairground.training.assemble import Assembled
from fairground.training.assemble import LoadedTable
from fairground.training.assemble import build
from fairground.training.assemble import build_loader
from fairground.training.assemble import build_loss
from fairground.training.assemble import build_miner
from fairground.training.assemble import build_model
from fairground.training.assemble import build_network
from fairground.training.assemble import build_regulariser
from fairground.training.assemble import build_stepper
from fairground.training.assemble import content_of_data
from fairground.training.assemble import load_table
from fairground.training.assemble import profile_of
from fairground.training.assemble import require_classes
from fairground.training.assemble import require_label_sets
from fairground.training.assemble import seeded
from fairground.training.assemble import start_head
from fairground.training.batch_loader import Loader
from fairground.training.batch_loader import State
from fairground.training.checkpoint import Checkpoints
from fairground.training.checkpoint import KEPT
from fairground.training.checkpoint import Snapshot
from fairground.training.checkpoint import from_bytes
from fairground.training.checkpoint import to_bytes
from fairground.training.device import algorithms
from fairground.training.device import device_details
from fairground.training.device import device_named
from fairground.training.device import forked_streams
from fairground.training.device import half_of
from fairground.training.device import peak_device_memory
from fairground.training.device import require_precision
from fairground.training.device import reset_peak_memory
from fairground.training.device import seed_streams
from fairground.training.device import set_streams
from fairground.training.device import stream_states
from fairground.training.device import torch_threads
from fairground.training.doctor import CHECKUPS_KEPT
from fairground.training.doctor import Diagnosis
from fairground.training.doctor import Doctor
from fairground.training.doctor import EARLY
from fairground.training.doctor import EVERY
from fairground.training.doctor import EpochCheck
from fairground.training.doctor import History
from fairground.training.doctor import LARGEST
from fairground.training.doctor import LATE_KEPT
from fairground.training.doctor import Observation
from fairground.training.doctor import ROWS
from fairground.training.doctor import SIGNS
from fairground.training.doctor import WatchedRun
from fairground.training.doctor import collapse
from fairground.training.doctor import dead_proxies
from fairground.training.doctor import divergence_cause
from fairground.training.doctor import exploding_norms
from fairground.training.doctor import hubs
from fairground.training.doctor import no_active_tuples
from fairground.training.doctor import overfitting
from fairground.training.doctor import stuck_at_margin
from fairground.training.embedding_model import BATCH_NORMS
from fairground.training.embedding_model import EmbeddingModel
from fairground.training.embedding_model import FreezeBatchNorm
from fairground.training.embedding_model import InputProfile
from fairground.training.embedding_model import n_frozen_stages
from fairground.training.embeddings_to_scores import analyse_train
from fairground.training.embeddings_to_scores import measure
from fairground.training.embeddings_to_scores import queries_and_gallery
from fairground.training.embeddings_to_scores import view_of
from fairground.training.embeddings_to_scores import view_of_rows
from fairground.training.evaluate_stored_runs import MOST_APART
from fairground.training.evaluate_stored_runs import ensemble_job
from fairground.training.evaluate_stored_runs import evaluate_stored
from fairground.training.evaluate_stored_runs import missing_place
from fairground.training.evaluate_stored_runs import read_profile
from fairground.training.evaluate_stored_runs import reopen
from fairground.training.evaluate_stored_runs import selected_weights
from fairground.training.evaluate_stored_runs import unsealed_test_rows
from fairground.training.few_shot import Episode
from fairground.training.few_shot import FASTER
from fairground.training.few_shot import STEPS
from fairground.training.few_shot import few_shot_episodes
from fairground.training.gallery_queries import N_NEIGHBOURS
from fairground.training.gallery_queries import N_QUERIES
from fairground.training.gallery_queries import SIDE
from fairground.training.gallery_queries import gallery_of
from fairground.training.gradient_cache import cached_backward
from fairground.training.gradient_cache import require_chunks_alone
from fairground.training.loop import MEASURES
from fairground.training.loop import Progress
from fairground.training.loop import StoppedError
from fairground.training.loop import Training
from fairground.training.loop import put_back
from fairground.training.loop import take_snapshot
from fairground.training.optimiser import Schedule
from fairground.training.optimiser import build_optimiser
from fairground.training.optimiser import rate_factor
from fairground.training.optimiser import require_weights
from fairground.training.outside_parts import ExternalHead
from fairground.training.outside_parts import ExternalLoss
from fairground.training.outside_parts import ExternalMiner
from fairground.training.outside_parts import ExternalSampler
from fairground.training.outside_parts import ExternalTransform
from fairground.training.outside_parts import ExternalTrunk
from fairground.training.outside_parts import as_part
from fairground.training.outside_parts import own_randomness
from fairground.training.python_objects import copied
from fairground.training.python_objects import digest_of
from fairground.training.python_objects import name_of_object
from fairground.training.python_objects import object_notes
from fairground.training.run import run_job
from fairground.training.sealed_test import SealedRows
from fairground.training.stage_cache import CHUNK
from fairground.training.stage_cache import CachedViews
from fairground.training.stage_cache import PLAIN
from fairground.training.stage_cache import StageCache
from fairground.training.stage_cache import describe
from fairground.training.stage_cache import folder_of
from fairground.training.stage_cache import prepare_inputs
from fairground.training.stage_cache import saved_shape
from fairground.training.step import Stepper
from fairground.training.sync_batch_norm import SyncBatchNorm
from fairground.training.sync_batch_norm import convert_batch_norms
from fairground.training.sync_batch_norm import gather_shares
from fairground.training.torchrun_group import ALONE
from fairground.training.torchrun_group import ProcessGroup
from fairground.training.torchrun_group import ShardTransform
from fairground.training.torchrun_group import SharedCheckpoints
from fairground.training.torchrun_group import TorchrunGroup
from fairground.training.torchrun_group import joined
from fairground.training.torchrun_group import shard_slice
from fairground.training.weight_average import WeightAverage

__all__ = [
    "ALONE",
    "ALWAYS",
    "Adaptation",
    "AdaptedModel",
    "Assembled",
    "BATCH_NORMS",
    "BLOCK",
    "BLOCK_ON_DEVICE",
    "CHECKUPS_KEPT",
    "CHUNK",
    "CachedViews",
    "Checkpoints",
    "ClusterError",
    "CroppedMaps",
    "CsvTable",
    "DamageWarning",
    "DataError",
    "Diagnosis",
    "DivergedError",
    "Doctor",
    "EARLY",
    "EVERY",
    "EmbeddingModel",
    "Episode",
    "EpochCheck",
    "ExternalHead",
    "ExternalLoss",
    "ExternalMiner",
    "ExternalSampler",
    "ExternalTransform",
    "ExternalTrunk",
    "FASTER",
    "FairgroundError",
    "FreezeBatchNorm",
    "History",
    "IGNORED",
    "InputError",
    "InputProfile",
    "IsTime",
    "KEPT",
    "KEPT_STARTS",
    "LARGEST",
    "LAST_STAGES",
    "LATE_KEPT",
    "LEAST_CROP",
    "LoadedTable",
    "Loader",
    "LockedError",
    "MEASURES",
    "MOST_APART",
    "MOST_FITTED",
    "N_NEIGHBOURS",
    "N_QUERIES",
    "Observation",
    "PER_CLASS",
    "PLAIN",
    "PictureError",
    "ProcessGroup",
    "Progress",
    "ROWS",
    "SIDE",
    "SIGNS",
    "STEPS",
    "Schedule",
    "SealError",
    "SealedRows",
    "ShardTransform",
    "SharedCheckpoints",
    "Snapshot",
    "StageCache",
    "State",
    "Stepper",
    "StoppedError",
    "StoreError",
    "SyncBatchNorm",
    "Tell",
    "TorchrunGroup",
    "Training",
    "WARMUP",
    "WatchedRun",
    "WeightAverage",
    "Workbench",
    "algorithms",
    "analyse_train",
    "append_line",
    "as_part",
    "build",
    "build_loader",
    "build_loss",
    "build_miner",
    "build_model",
    "build_network",
    "build_optimiser",
    "build_regulariser",
    "build_stepper",
    "cache_folder",
    "cached_backward",
    "cannot_write",
    "collapse",
    "content_of_data",
    "convert_batch_norms",
    "copied",
    "dead_proxies",
    "describe",
    "device_details",
    "device_named",
    "digest_of",
    "divergence_cause",
    "ensemble_job",
    "evaluate_stored",
    "exploding_norms",
    "few_shot_episodes",
    "file_digests",
    "fit_head",
    "folded_name",
    "folder_of",
    "forked_streams",
    "from_bytes",
    "gallery_of",
    "gather_shares",
    "half_of",
    "held",
    "hubs",
    "is_at_work",
    "joined",
    "load_table",
    "measure",
    "missing_place",
    "n_frozen_stages",
    "name_of_object",
    "nearest",
    "no_active_tuples",
    "object_notes",
    "open_file",
    "overfitting",
    "own_randomness",
    "parse_json",
    "parse_with_digest",
    "past_frozen",
    "peak_device_memory",
    "prepare_inputs",
    "profile_of",
    "put_away",
    "put_back",
    "queries_and_gallery",
    "rate_factor",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_profile",
    "read_text",
    "read_with_digest",
    "reading",
    "reopen",
    "require",
    "require_chunks_alone",
    "require_classes",
    "require_file",
    "require_label_sets",
    "require_precision",
    "require_weights",
    "require_within",
    "reset_peak_memory",
    "round_robin",
    "run_job",
    "saved_shape",
    "seed_streams",
    "seeded",
    "selected_weights",
    "set_streams",
    "shard_slice",
    "shown",
    "start_head",
    "stream_states",
    "stuck_at_margin",
    "sweep",
    "take_snapshot",
    "to_bytes",
    "torch_threads",
    "unsealed_test_rows",
    "view_of",
    "view_of_rows",
    "write_atomically",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
