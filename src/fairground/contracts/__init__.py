"""What each kind of part promises."""
