"""What a crash or a stop left open: evidence, settlement, rewind."""
