"""Draws of rows, and what batch samplers share."""
