"""The report's pages served while studies run."""
