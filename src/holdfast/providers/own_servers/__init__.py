"""Servers of the user's own: what they tell about themselves that a provider elsewhere does not."""
