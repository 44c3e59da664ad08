"""Loggers that follow a run while it trains."""
