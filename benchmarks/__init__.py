"""Benchmarks: ratios against peers, each measured in one run."""
