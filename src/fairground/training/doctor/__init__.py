"""Checks that watch a training run."""
