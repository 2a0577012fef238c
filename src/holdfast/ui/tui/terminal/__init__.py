"""The terminal: its modes, input, output, and restoring it."""
