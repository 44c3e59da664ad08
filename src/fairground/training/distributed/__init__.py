"""One training shared by several processes."""
