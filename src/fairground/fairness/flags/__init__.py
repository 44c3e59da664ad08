"""What a reader must be told about a table, one file a flag; the file name is the flag's name.

A flag file has `check(evidence)`. A flag does not keep methods out of one table: it says what may not be concluded.
"""
