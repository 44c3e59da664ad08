# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.datasets.cars196 import Cars196Dataset
from fairground.datasets.cub200 import Cub200Dataset
from fairground.datasets.features import FeaturesDataset
from fairground.datasets.folder import FolderDataset
from fairground.datasets.icons import IconsDataset
from fairground.datasets.in_shop import InShopDataset
from fairground.datasets.sop import SopDataset
from fairground.datasets.synthetic import SyntheticDataset
from fairground.datasets.table import TableDataset
from fairground.datasets.toy_lines import ToyLinesDataset
from fairground.datasets.toy_spaces import ToySpacesDataset

__all__ = [
    "Cars196Dataset",
    "Cub200Dataset",
    "FeaturesDataset",
    "FolderDataset",
    "IconsDataset",
    "InShopDataset",
    "SopDataset",
    "SyntheticDataset",
    "TableDataset",
    "ToyLinesDataset",
    "ToySpacesDataset",
]
