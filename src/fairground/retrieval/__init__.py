"""Exact ranking of everything against everything."""
