"""A model through pydantic-ai and the SDK of its provider."""
