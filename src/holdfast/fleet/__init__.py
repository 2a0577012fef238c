"""Many sessions on many machines: one record of them, workers that may die, and what a service asks."""
