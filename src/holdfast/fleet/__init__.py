"""Many sessions on many machines: one record of them, workers that drive them, and an interface for services."""
