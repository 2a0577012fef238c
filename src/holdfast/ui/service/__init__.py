"""`holdfast serve`: an HTTP API and a page for sessions, local ones or those of a fleet."""
