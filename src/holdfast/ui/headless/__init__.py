"""One turn without a screen."""
