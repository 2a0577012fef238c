"""Repairs: the smallest edits that make a conversation valid, one module per subject of the rules."""
