"""The prompt in the composer: its pastes, files and images, its history, and an external editor."""
