"""Lists of sessions with preview and search, the trash, and the branches of a session."""
