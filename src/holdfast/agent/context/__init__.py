"""What a conversation begins with and how it is kept within the window: system prompt, compaction, changed files."""
