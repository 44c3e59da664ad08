"""From embeddings to numbers.

No file here is called `evaluate`: a submodule of that name would hide the function from
`from fairground.evaluation import evaluate`.
"""

from fairground.spec.catalogue import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
