"""The browser for tests that look at pages."""

from tests.browser_fixtures import browser, look

__all__ = ["browser", "look"]
