# Written by scripts/write_stubs.py, which `make format` runs: do not edit.
from fairground.trunks.bn_inception import BnInceptionTrunk
from fairground.trunks.efficientnet_lite0 import EfficientnetLite0Trunk
from fairground.trunks.efficientnet_lite1 import EfficientnetLite1Trunk
from fairground.trunks.efficientnet_lite2 import EfficientnetLite2Trunk
from fairground.trunks.features import FeaturesTrunk
from fairground.trunks.folded_conv import FoldedConvTrunk
from fairground.trunks.googlenet import GooglenetTrunk
from fairground.trunks.joined import JoinedTrunk
from fairground.trunks.mobilenet_v2 import MobilenetV2Trunk
from fairground.trunks.resnet50 import Resnet50Trunk
from fairground.trunks.resnet50_original import Resnet50OriginalTrunk
from fairground.trunks.small_conv import SmallConvTrunk
from fairground.trunks.timm import TimmTrunk

__all__ = [
    "BnInceptionTrunk",
    "EfficientnetLite0Trunk",
    "EfficientnetLite1Trunk",
    "EfficientnetLite2Trunk",
    "FeaturesTrunk",
    "FoldedConvTrunk",
    "GooglenetTrunk",
    "JoinedTrunk",
    "MobilenetV2Trunk",
    "Resnet50OriginalTrunk",
    "Resnet50Trunk",
    "SmallConvTrunk",
    "TimmTrunk",
]
