"""The race against the clock."""
