"""Which runs may share a table, and what a reader must be told about those that do."""
