"""`fairground recommend`: which method suits a data set, within a time."""
