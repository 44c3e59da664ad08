"""Selection that saw the test classes, or that nothing kept from seeing them.

Flaw
    MLRC section 2.3: test accuracy is looked at during training and its best is reported; or training runs for a number
    of iterations that nobody says how was chosen. Its supplementary page: none of the papers uses a validation set.
"""

from fairground.fairness.evidence import Evidence, Flag
from fairground.fairness.told import selected_on

WHY = "Whatever is chosen by its test score has a test score that is too high (MLRC 2.3)."


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for methods selected on the test split, and one for those that show no other selection."""
    chosen = {label: {selected_on(record) for record in records} for label, records in evidence.done.items()}
    on_test = tuple(label for label, splits in chosen.items() if "test" in splits)
    unknown = tuple(label for label, splits in chosen.items() if None in splits)
    found = []
    if on_test:
        text = f"Selected on the test split: {', '.join(on_test)}."
        found.append(Flag(flag="test_selection", methods=on_test, text=text, why=WHY))
    if unknown:
        text = f"No validation score, so nothing shows that the test split did not select: {', '.join(unknown)}."
        found.append(Flag(flag="test_selection", methods=unknown, text=text, why=WHY))
    return found
