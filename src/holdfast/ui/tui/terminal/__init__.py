"""The terminal: taken, written to, read, and given back."""
