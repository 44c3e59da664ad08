"""With and without manifold mixup: what each objective loses, and how far its embeddings are compressed.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, supplement F, figure 12.
"""

from statistics import fmean

from fairground.reporting.drawing import Key, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count
from fairground.reporting.figures.regularised import is_mixed, paired_bars, with_bases

PAGE_ORDER = 25
#: of the training embeddings: decay of all of them, and within classes
DECAYS = {"rho": "\u03c1", "class_rho": "\u03c1 within classes"}
_WITHOUT, _WITH = 0, 1


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some method was run both ways."""
    pairs = [(base, mixed) for mixed, base in with_bases(inputs, is_mixed) if base is not None]
    found = {
        axis_of(inputs.habitual): [[inputs.scores(one, inputs.habitual) for one in pair] for pair in pairs],
        **{title: [[one.values(name, "train") for one in pair] for pair in pairs] for name, title in DECAYS.items()},
    }
    known = {title: rows for title, rows in found.items() if rows and all(all(row) for row in rows)}
    if not known:
        return None
    labels = [base.label for base, _ in pairs]
    n_runs = sum(len(values) for row in next(iter(known.values())) for values in row)
    return ReportFigure(
        name="mixup",
        title="With and without manifold mixup",
        sentence=(
            f"{', '.join(known)}, mean and standard deviation, of {count(len(pairs), 'method')} without and with "
            f"manifold mixup ({count(n_runs, 'run')}). As in figure 12 of Roth et al., 2020; the spectra are below, "
            "where runs kept them."
        ),
        draw=panels(
            [
                paired_bars(list(zip(labels, rows, strict=True)), _WITHOUT, _WITH, title)
                for title, rows in known.items()
            ],
            columns=3,
            keys=[Key(text="without", series=_WITHOUT, kind="bar"), Key(text="with mixup", series=_WITH, kind="bar")],
            has_shared_y=True,
        ),
        height=1.5 + 0.6 * len(pairs),
        columns=("method", *(f"{title}, {how}" for title in known for how in ("without", "with"))),
        numbers=tuple(
            (label, *(f"{fmean(values):.2f}" for rows in known.values() for values in rows[row]))
            for row, label in enumerate(labels)
        ),
    )
