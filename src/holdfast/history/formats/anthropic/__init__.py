"""Messages of Anthropic's Messages API: read, checked and written."""
