"""The providers that need no config, as data."""
