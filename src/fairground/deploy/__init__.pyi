# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.deploy.answer_queries import MOST
from fairground.deploy.answer_queries import NearestClass
from fairground.deploy.answer_queries import Neighbour
from fairground.deploy.answer_queries import QueryDecision
from fairground.deploy.answer_queries import QueryResult
from fairground.deploy.answer_queries import query_index
from fairground.deploy.answer_queries import read_queries
from fairground.deploy.class_vote import VOTERS
from fairground.deploy.class_vote import vote
from fairground.deploy.embed_images import Embedder
from fairground.deploy.embed_images import FEATURES
from fairground.deploy.embed_images import PICTURES
from fairground.deploy.embed_images import ResizedImages
from fairground.deploy.embed_images import UsableModel
from fairground.deploy.embed_images import embed_to_file
from fairground.deploy.embed_images import resized_images
from fairground.deploy.index_folder import Index
from fairground.deploy.index_folder import IndexChange
from fairground.deploy.index_folder import IndexInfo
from fairground.deploy.index_folder import MARK
from fairground.deploy.index_folder import MODEL
from fairground.deploy.index_folder import TRIALS
from fairground.deploy.index_folder import add_embeddings
from fairground.deploy.index_folder import add_to_index
from fairground.deploy.index_folder import build_index
from fairground.deploy.index_folder import create_index
from fairground.deploy.index_folder import open_index
from fairground.deploy.index_folder import remove_from_index
from fairground.deploy.index_search import Forbid
from fairground.deploy.index_search import Matches
from fairground.deploy.index_search import QUERIES
from fairground.deploy.index_search import UNIT_LENGTH
from fairground.deploy.index_search import search
from fairground.deploy.index_search import search_signs
from fairground.deploy.inputs import Embeddable
from fairground.deploy.inputs import EmbeddingInputs
from fairground.deploy.inputs import SIDE
from fairground.deploy.inputs import listed
from fairground.deploy.inputs import read_inputs
from fairground.deploy.inputs import thumbnail
from fairground.deploy.inputs import thumbnails_of
from fairground.deploy.inputs import unreadable
from fairground.deploy.inputs import without
from fairground.deploy.match_thresholds import EER
from fairground.deploy.match_thresholds import FMR
from fairground.deploy.match_thresholds import MOST_ROWS
from fairground.deploy.match_thresholds import thresholds_of
from fairground.deploy.metadata import BY_ANOTHER_DISTANCE
from fairground.deploy.metadata import DATA_GONE
from fairground.deploy.metadata import FORMAT
from fairground.deploy.metadata import MeasuredScore
from fairground.deploy.metadata import ModelMetadata
from fairground.deploy.metadata import OnnxInput
from fairground.deploy.metadata import Threshold
from fairground.deploy.metadata import VERSION
from fairground.deploy.model_card import card_of
from fairground.deploy.model_folder import CARD
from fairground.deploy.model_folder import METADATA
from fairground.deploy.model_folder import WEIGHTS
from fairground.deploy.model_folder import metadata_of
from fairground.deploy.model_folder import model_of_run
from fairground.deploy.model_folder import open_model
from fairground.deploy.model_folder import read_model
from fairground.deploy.model_folder import require_place
from fairground.deploy.model_folder import untrained
from fairground.deploy.model_folder import write_model
from fairground.deploy.onnx_export import LARGEST_DIFFERENCE
from fairground.deploy.onnx_export import ONNX
from fairground.deploy.onnx_export import example_inputs
from fairground.deploy.onnx_export import write_onnx
from fairground.deploy.quantised_rows import Precision
from fairground.deploy.quantised_rows import QuantisedRows
from fairground.deploy.quantised_rows import SHORTLIST
from fairground.deploy.quantised_rows import nearest_by_signs
from fairground.deploy.quantised_rows import quantise
from fairground.deploy.quantised_rows import signs_of
from fairground.deploy.unknown_classes import DecisionRule
from fairground.deploy.unknown_classes import FPIR
from fairground.deploy.unknown_classes import OpenSetTrials
from fairground.deploy.unknown_classes import ROWS
from fairground.deploy.unknown_classes import class_mean
from fairground.deploy.unknown_classes import open_set_trials
from fairground.deploy.unknown_classes import rule_of
from fairground.deploy.unknown_classes import spread_rows
from fairground.deploy.unknown_classes import trials_of
from fairground.deploy.vector_frontier import Frontier
from fairground.deploy.vector_frontier import FrontierPoint
from fairground.deploy.vector_frontier import K
from fairground.deploy.vector_frontier import METRICS
from fairground.deploy.vector_frontier import N_TIMED
from fairground.deploy.vector_frontier import RANGES
from fairground.deploy.vector_frontier import frontier_of
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
    "BY_ANOTHER_DISTANCE",
    "CARD",
    "ClusterError",
    "CsvTable",
    "DATA_GONE",
    "DamageWarning",
    "DataError",
    "DecisionRule",
    "DivergedError",
    "EER",
    "Embeddable",
    "Embedder",
    "EmbeddingInputs",
    "FEATURES",
    "FMR",
    "FORMAT",
    "FPIR",
    "FairgroundError",
    "Forbid",
    "Frontier",
    "FrontierPoint",
    "Index",
    "IndexChange",
    "IndexInfo",
    "InputError",
    "K",
    "LARGEST_DIFFERENCE",
    "LockedError",
    "MARK",
    "METADATA",
    "METRICS",
    "MODEL",
    "MOST",
    "MOST_ROWS",
    "Matches",
    "MeasuredScore",
    "ModelMetadata",
    "N_TIMED",
    "NearestClass",
    "Neighbour",
    "ONNX",
    "OnnxInput",
    "OpenSetTrials",
    "PICTURES",
    "PictureError",
    "Precision",
    "QUERIES",
    "QuantisedRows",
    "QueryDecision",
    "QueryResult",
    "RANGES",
    "ROWS",
    "ResizedImages",
    "SHORTLIST",
    "SIDE",
    "SealError",
    "StoreError",
    "TRIALS",
    "Threshold",
    "UNIT_LENGTH",
    "UsableModel",
    "VERSION",
    "VOTERS",
    "WEIGHTS",
    "add_embeddings",
    "add_to_index",
    "append_line",
    "build_index",
    "cache_folder",
    "cannot_write",
    "card_of",
    "class_mean",
    "create_index",
    "embed_to_file",
    "example_inputs",
    "file_digests",
    "folded_name",
    "frontier_of",
    "held",
    "is_at_work",
    "listed",
    "metadata_of",
    "model_of_run",
    "nearest",
    "nearest_by_signs",
    "open_file",
    "open_index",
    "open_model",
    "open_set_trials",
    "parse_json",
    "parse_with_digest",
    "put_away",
    "quantise",
    "query_index",
    "read_bytes",
    "read_csv",
    "read_inputs",
    "read_json",
    "read_model",
    "read_queries",
    "read_text",
    "read_with_digest",
    "reading",
    "remove_from_index",
    "require",
    "require_file",
    "require_place",
    "require_within",
    "resized_images",
    "rule_of",
    "search",
    "search_signs",
    "shown",
    "signs_of",
    "spread_rows",
    "sweep",
    "thresholds_of",
    "thumbnail",
    "thumbnails_of",
    "trials_of",
    "unreadable",
    "untrained",
    "vote",
    "without",
    "write_atomically",
    "write_model",
    "write_onnx",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
