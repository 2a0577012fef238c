"""The agent on its own thread, and the messages between it and the screen."""
