"""The lists of models that providers offer: fetched, cached for a day, and marked as favourites."""
