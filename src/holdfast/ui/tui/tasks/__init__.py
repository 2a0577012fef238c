"""Background tasks on the screen."""
