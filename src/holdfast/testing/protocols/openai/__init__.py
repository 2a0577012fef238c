"""The protocols of OpenAI."""
