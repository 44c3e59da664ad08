"""Signs of an ill training: one sign, one file; the file name is the sign's name."""
