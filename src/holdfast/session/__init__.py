"""A session is its journal: entries, the fold over them, and the stores that keep them."""
