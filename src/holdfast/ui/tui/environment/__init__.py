"""What is around the screen: the user's status command, the terminal's colours, focus and title."""
