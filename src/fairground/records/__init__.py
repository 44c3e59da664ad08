"""What happened: plain data, no torch."""
