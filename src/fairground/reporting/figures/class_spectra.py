"""The singular values of the training embeddings within classes, averaged over classes.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, supplement B, figure 10.
"""

from fairground.reporting.figure import FigureInputs, ReportFigure
from fairground.reporting.figures.spectra import spectra_figure, spectra_of

PAGE_ORDER = 72
ARRAY = "class_spectra/class_spectrum"


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs kept their class spectra."""
    return spectra_figure(
        spectra_of(inputs, ARRAY),
        name="class_spectra",
        title="Singular value spectra within classes",
        what=(
            "Each singular value of the training embeddings of a class as a share of their sum, largest first, mean "
            "over classes and seeds"
        ),
        meaning="A steep line: classes use few directions. As in figure 10 of Roth et al., 2020.",
    )
