"""Many runs: planned, conducted, selected."""
