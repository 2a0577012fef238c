"""Undo of files: what they were before each acting call is kept, and can be made what they are again."""
