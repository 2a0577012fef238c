"""The context of a conversation: system prompt, changed files, and compaction to stay within the window."""
