"""Reads, checks and writes messages of Anthropic's Messages API."""
