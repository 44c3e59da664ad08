"""What a person sees while work goes on: bars in a terminal, lines elsewhere, nothing when quiet."""
