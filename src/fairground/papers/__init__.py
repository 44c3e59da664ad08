"""Protocols as TOML, read by file name."""
