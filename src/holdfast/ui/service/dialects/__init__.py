"""The dialects in which a client can read the events of a session: one module for each."""
