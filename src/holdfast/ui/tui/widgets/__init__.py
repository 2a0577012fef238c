"""The widgets of the screen."""
