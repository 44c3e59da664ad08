import pytest

from fairground.comparison import generality, null_distribution, over_datasets


@pytest.fixture
def few_draws(monkeypatch):
    """As few draws as studies of thousands of runs have, so that simulated studies take a fifth of the time."""
    null_distribution.null_distribution_of.cache_clear()
    for module, name in ((null_distribution, "DRAWS"), (generality, "DRAWS"), (over_datasets, "RESAMPLES")):
        monkeypatch.setattr(module, name, null_distribution.FEWEST // (4 if name == "RESAMPLES" else 1))
    yield
    null_distribution.null_distribution_of.cache_clear()
