"""What the screen offers of sessions: their list with preview and search, the trash, and the branches of one."""
