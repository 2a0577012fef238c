"""Blocks as lines of styled text."""
