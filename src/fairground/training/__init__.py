"""One run: a RunSpec in, a RunRecord out."""
