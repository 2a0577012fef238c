"""The models that a provider says it has: asked for, kept for a day, and marked as favourites."""
