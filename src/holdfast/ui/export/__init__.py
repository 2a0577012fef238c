"""A session as Markdown or HTML."""
