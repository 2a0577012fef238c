"""A coding agent whose conversations cannot be broken, and the small library it stands on."""

__version__ = "0.1.0"
