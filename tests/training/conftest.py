"""Every training of a test has a cache of its own."""

import pytest


@pytest.fixture(autouse=True)
def _own_cache(own_cache):
    pass
