"""Renders blocks as lines of styled text."""
