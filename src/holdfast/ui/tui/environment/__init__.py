"""The screen's surroundings: the user's status command, the terminal's colours, focus and title."""
