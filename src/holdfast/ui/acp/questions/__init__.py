"""Questions to the user, put by the client."""
