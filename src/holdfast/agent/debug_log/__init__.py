"""The debug log."""
