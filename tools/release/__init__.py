"""Builds what is published of a version."""
