"""Arithmetic shared by components."""
