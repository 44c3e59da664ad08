"""What must agree before methods may share a table, one file a rule; the file name is the rule's name.

A rule file has `OWNS`, the settings it watches, and `check(evidence)`, which returns what does not agree.
"""
