"""Conversations of other programs that no format of holdfast reads."""
