"""What the user sees of a session, whatever shows it."""
