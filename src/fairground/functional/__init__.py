"""The mathematics of a batch in plain torch."""
