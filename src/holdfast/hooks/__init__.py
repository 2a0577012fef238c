"""Commands that the user has configured for events of a session. Loaded only if there is one."""
