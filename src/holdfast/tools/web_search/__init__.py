"""The tool `search`: web search by a service that the user configured."""
