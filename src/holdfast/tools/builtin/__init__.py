"""The tools that a session starts with."""
