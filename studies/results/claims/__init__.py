"""One file a claim; each has `page(records)`, which returns nothing while its records are missing."""
