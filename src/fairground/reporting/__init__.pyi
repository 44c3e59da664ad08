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
from fairground.reporting.class_scores import ClassScores
from fairground.reporting.comparison_text import MOST_TO_READ
from fairground.reporting.comparison_text import compare_records
from fairground.reporting.comparison_text import confidence_of
from fairground.reporting.comparison_text import has_intervals
from fairground.reporting.comparison_text import how_to_read
from fairground.reporting.comparison_text import indented
from fairground.reporting.comparison_text import pairs_to_read
from fairground.reporting.comparison_text import plain
from fairground.reporting.comparison_text import plain_pair
from fairground.reporting.comparison_text import refusal
from fairground.reporting.comparison_text import reservations
from fairground.reporting.comparison_text import sentence
from fairground.reporting.comparison_text import sentence_in
from fairground.reporting.drawing import Bar
from fairground.reporting.drawing import Contours
from fairground.reporting.drawing import Draw
from fairground.reporting.drawing import Line
from fairground.reporting.drawing import N_LEVELS
from fairground.reporting.drawing import Names
from fairground.reporting.drawing import Panel
from fairground.reporting.drawing import Points
from fairground.reporting.drawing import Size
from fairground.reporting.drawing import axes_in
from fairground.reporting.drawing import label_shifts
from fairground.reporting.drawing import panels
from fairground.reporting.drawing import plain_axes
from fairground.reporting.drawing import points_by_class
from fairground.reporting.drawing import svg_for_page
from fairground.reporting.drawing import write
from fairground.reporting.drawing import write_figure
from fairground.reporting.embedding_map import EmbeddingMap
from fairground.reporting.embedding_map import MOST_POINTS
from fairground.reporting.embedding_map import Point
from fairground.reporting.embedding_map import map_of
from fairground.reporting.embedding_map import maps_of
from fairground.reporting.figure import ANSWERS
from fairground.reporting.figure import FigureInputs
from fairground.reporting.figure import RANKINGS
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure import WIDTH
from fairground.reporting.figure import axis_of
from fairground.reporting.figure import count
from fairground.reporting.figure import factor_of
from fairground.reporting.figure import figures_of
from fairground.reporting.figure import side_of
from fairground.reporting.figure import signed
from fairground.reporting.figure import write_figures
from fairground.reporting.figure_colours import DARK
from fairground.reporting.figure_colours import DASHED
from fairground.reporting.figure_colours import DASHES
from fairground.reporting.figure_colours import DOTTED
from fairground.reporting.figure_colours import Dash
from fairground.reporting.figure_colours import LIGHT
from fairground.reporting.figure_colours import N_SERIES
from fairground.reporting.figure_colours import Palette
from fairground.reporting.figure_colours import SIGNS
from fairground.reporting.figure_colours import SOLID
from fairground.reporting.figure_colours import STAND_IN
from fairground.reporting.figure_colours import Series
from fairground.reporting.figure_colours import colour_of
from fairground.reporting.figure_colours import css_variables
from fairground.reporting.figure_colours import dash_of
from fairground.reporting.figure_colours import series_of
from fairground.reporting.figure_colours import sign_of
from fairground.reporting.frontier_page import frontier_sentence
from fairground.reporting.frontier_page import ranges_sentence
from fairground.reporting.frontier_page import write_frontier
from fairground.reporting.gallery_pictures import Gallery
from fairground.reporting.gallery_pictures import Query
from fairground.reporting.gallery_pictures import Tile
from fairground.reporting.gallery_pictures import galleries_of
from fairground.reporting.gallery_pictures import read_gallery
from fairground.reporting.headings_and_units import clean
from fairground.reporting.headings_and_units import duration
from fairground.reporting.headings_and_units import heading
from fairground.reporting.headings_and_units import shorten
from fairground.reporting.headings_and_units import show
from fairground.reporting.headings_and_units import show_interval
from fairground.reporting.headings_and_units import size
from fairground.reporting.headings_and_units import squeeze
from fairground.reporting.headings_and_units import unit
from fairground.reporting.headings_and_units import with_unit
from fairground.reporting.live_pages import MOST_CARDS
from fairground.reporting.live_pages import MOST_FINISHED
from fairground.reporting.live_pages import PAUSE
from fairground.reporting.live_pages import REST
from fairground.reporting.live_pages import Watch
from fairground.reporting.live_pages import recommendation_card
from fairground.reporting.live_pages import run_card
from fairground.reporting.live_pages import study_card
from fairground.reporting.methods_and_labels import Method
from fairground.reporting.methods_and_labels import labels_of
from fairground.reporting.methods_and_labels import methods_of
from fairground.reporting.page import MOST_LISTED
from fairground.reporting.page import build_page
from fairground.reporting.page import inputs_of
from fairground.reporting.page import page_text
from fairground.reporting.page import picture
from fairground.reporting.page import sections_of
from fairground.reporting.page_templates import MOST
from fairground.reporting.page_templates import data_uri
from fairground.reporting.page_templates import render
from fairground.reporting.page_templates import write_answers
from fairground.reporting.page_templates import write_page
from fairground.reporting.page_templates import write_recommendation_page
from fairground.reporting.page_templates import write_suspects
from fairground.reporting.result_table import Mark
from fairground.reporting.result_table import MethodComparer
from fairground.reporting.result_table import PRECISION_AT_1
from fairground.reporting.result_table import ResultTable
from fairground.reporting.result_table import TableCell
from fairground.reporting.result_table import UNFAIR
from fairground.reporting.result_table import marks_of
from fairground.reporting.run_set import RunSet
from fairground.reporting.run_set import SectionKey
from fairground.reporting.run_set import arrays_in
from fairground.reporting.run_set import collected
from fairground.reporting.run_set import leave_out
from fairground.reporting.run_set import section_key
from fairground.reporting.run_set import with_ensembles_apart
from fairground.reporting.sentences import Models
from fairground.reporting.sentences import Note
from fairground.reporting.sentences import chance_text
from fairground.reporting.sentences import headline_of
from fairground.reporting.sentences import join_names
from fairground.reporting.sentences import notes_of
from fairground.reporting.sentences import question_of
from fairground.reporting.study_results import StudyTable
from fairground.reporting.study_results import find_runs
from fairground.reporting.study_results import from_study
from fairground.reporting.study_results import results_plain
from fairground.reporting.study_results import results_text
from fairground.reporting.study_results import tables_of
from fairground.reporting.table_formats import FORMATS
from fairground.reporting.table_formats import LATEX_MARKS
from fairground.reporting.table_formats import MARKS
from fairground.reporting.table_formats import csv_text
from fairground.reporting.table_formats import folded
from fairground.reporting.table_formats import latex
from fairground.reporting.table_formats import markdown
from fairground.reporting.table_formats import text_table
from fairground.reporting.table_legend import caption
from fairground.reporting.table_legend import legend
from fairground.reporting.tables_over_datasets import OverTables
from fairground.reporting.tables_over_datasets import over_tables
from fairground.reporting.watch_server import WatchServer

__all__ = [
    "ANSWERS",
    "Bar",
    "ClassScores",
    "ClusterError",
    "Contours",
    "CsvTable",
    "DARK",
    "DASHED",
    "DASHES",
    "DOTTED",
    "DamageWarning",
    "Dash",
    "DataError",
    "DivergedError",
    "Draw",
    "EmbeddingMap",
    "FORMATS",
    "FairgroundError",
    "FigureInputs",
    "Gallery",
    "InputError",
    "LATEX_MARKS",
    "LIGHT",
    "Line",
    "LockedError",
    "MARKS",
    "MOST",
    "MOST_CARDS",
    "MOST_FINISHED",
    "MOST_LISTED",
    "MOST_POINTS",
    "MOST_TO_READ",
    "Mark",
    "Method",
    "MethodComparer",
    "Models",
    "N_LEVELS",
    "N_SERIES",
    "Names",
    "Note",
    "OverTables",
    "PAUSE",
    "PRECISION_AT_1",
    "Palette",
    "Panel",
    "PictureError",
    "Point",
    "Points",
    "Query",
    "RANKINGS",
    "REST",
    "ReportFigure",
    "ResultTable",
    "RunSet",
    "SIGNS",
    "SOLID",
    "STAND_IN",
    "SealError",
    "SectionKey",
    "Series",
    "Size",
    "StoreError",
    "StudyTable",
    "TableCell",
    "Tile",
    "UNFAIR",
    "WIDTH",
    "Watch",
    "WatchServer",
    "append_line",
    "arrays_in",
    "axes_in",
    "axis_of",
    "build_page",
    "cache_folder",
    "cannot_write",
    "caption",
    "chance_text",
    "clean",
    "collected",
    "colour_of",
    "compare_records",
    "confidence_of",
    "count",
    "css_variables",
    "csv_text",
    "dash_of",
    "data_uri",
    "duration",
    "factor_of",
    "figures_of",
    "file_digests",
    "find_runs",
    "folded",
    "folded_name",
    "from_study",
    "frontier_sentence",
    "galleries_of",
    "has_intervals",
    "heading",
    "headline_of",
    "held",
    "how_to_read",
    "indented",
    "inputs_of",
    "is_at_work",
    "join_names",
    "label_shifts",
    "labels_of",
    "latex",
    "leave_out",
    "legend",
    "map_of",
    "maps_of",
    "markdown",
    "marks_of",
    "methods_of",
    "nearest",
    "notes_of",
    "open_file",
    "over_tables",
    "page_text",
    "pairs_to_read",
    "panels",
    "parse_json",
    "parse_with_digest",
    "picture",
    "plain",
    "plain_axes",
    "plain_pair",
    "points_by_class",
    "put_away",
    "question_of",
    "ranges_sentence",
    "read_bytes",
    "read_csv",
    "read_gallery",
    "read_json",
    "read_text",
    "read_with_digest",
    "reading",
    "recommendation_card",
    "refusal",
    "render",
    "require",
    "require_file",
    "require_within",
    "reservations",
    "results_plain",
    "results_text",
    "run_card",
    "section_key",
    "sections_of",
    "sentence",
    "sentence_in",
    "series_of",
    "shorten",
    "show",
    "show_interval",
    "shown",
    "side_of",
    "sign_of",
    "signed",
    "size",
    "squeeze",
    "study_card",
    "svg_for_page",
    "sweep",
    "tables_of",
    "text_table",
    "unit",
    "with_ensembles_apart",
    "with_unit",
    "write",
    "write_answers",
    "write_atomically",
    "write_figure",
    "write_figures",
    "write_frontier",
    "write_page",
    "write_recommendation_page",
    "write_suspects",
    "write_to_disk",
    "write_with_digest",
    "writing",
]
