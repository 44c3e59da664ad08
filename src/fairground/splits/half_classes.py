"""Half of the classes are kept for the test; of the others a fraction validates.

Formula
    test       = the official test half where the data set marks one, otherwise the second half of the classes by label
    validation = round(validation * |seen|) of the seen classes, those whose hash of seed and name comes first
    train      = the rest of the seen classes

Paper
    Song, Xiang, Jegelka and Savarese, "Deep Metric Learning via Lifted Structured Feature Embedding", CVPR 2016,
    section 6: the first half of the classes trains, the second half tests, and no class is in both.

Departures from the paper
    The paper holds no classes out for validation. Here the test half can stay sealed because other classes validate.
    Which ones depends on `seed` and the class names alone, so that all runs of a comparison share them whatever their
    own seeds, and no library's random numbers can move a class.
"""

from fairground.contracts.split import ImageTable, Split, SplitRows
from fairground.splits._halves import class_halves, classes_by_draw, validated_by_draw


class HalfClassesSplit(Split):
    """`validation` is the fraction of the seen classes that validates; another `seed` chooses other classes.

    With 0 all seen classes train and none validates, as in Roth et al.; the run must then say that the test split
    selects.
    """

    bounds = {"validation": "[0, 1)", "seed": "[0, inf)"}

    def __init__(self, *, validation: float = 0.2, seed: int = 0) -> None:
        self.validation, self.seed = validation, seed

    def divide(self, table: ImageTable) -> SplitRows:
        seen, test = class_halves(table)
        hint = f"split.validation={2 / len(seen):.2g}" if len(seen) > 2 else ""
        order = classes_by_draw(table, seen, self.seed)
        return validated_by_draw("half_classes", table, order, self.validation, test, hint)
