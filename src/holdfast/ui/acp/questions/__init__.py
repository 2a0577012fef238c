"""Questions to the user, shown by the client."""
