"""The same mathematics, fast on a processor."""
