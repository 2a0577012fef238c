"""Settles what a crash or a stop left open: evidence, settlement, rewind."""
