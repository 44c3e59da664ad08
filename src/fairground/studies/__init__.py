"""Many runs: planned, scheduled, searched, selected."""
