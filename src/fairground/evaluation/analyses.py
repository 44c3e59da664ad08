"""What kind of space the embeddings form: `analyse` runs analyses by name over one view."""

from collections.abc import Sequence

from fairground.contracts.analysis import Analysis, Findings
from fairground.errors import require
from fairground.evaluation import checked_arrays
from fairground.evaluation.embedding_view import EmbeddingView
from fairground.spec.catalogue import find, list_room
from fairground.spec.measurement_names import read_analysis


def analyse(
    embeddings: checked_arrays.Embeddings | EmbeddingView,
    labels: checked_arrays.Labels | None = None,
    analyses: Sequence[str | Analysis] | None = None,
    *,
    normalise: bool = True,
    threads: int | None = None,
) -> dict[str, Findings]:
    """Return the findings of each analysis, all there are by default, under its name.

    Takes embeddings and labels, or a view that has computed something already. A name may carry options:
    `rho(drop_last=1)`.
    """
    if isinstance(embeddings, EmbeddingView):
        view = embeddings
    else:
        view = EmbeddingView(embeddings, labels, normalise=normalise, threads=threads)
    require(
        view.references is None and view.query_rows is None,
        "analyse looks at one set of embeddings as a whole: no references, no query_rows",
    )
    found = {}
    for asked in list_room("analysis") if analyses is None else analyses:
        if isinstance(asked, str):
            wanted = read_analysis(asked)
            name, analysis = wanted.name, find("analysis", wanted.name)(**wanted.options)
        else:
            name, analysis = type(asked).__name__, asked
        found[name] = analysis.measure(view)
    return found
