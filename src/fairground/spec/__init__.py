"""What was asked: plain data, no torch."""
