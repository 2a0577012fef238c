"""The prompt that is being written: its pastes, files and images, its history, and an editor for it."""
