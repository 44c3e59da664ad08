"""What a verb does beyond parsing and printing: one file per verb, called by the command line and by `fairground.*`."""
