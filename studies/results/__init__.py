"""Pages of results, made from exported records alone: `python -m studies.results` (`make results`) trains nothing."""
