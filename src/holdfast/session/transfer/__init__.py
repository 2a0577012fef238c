"""Conversations that come in and go out: import, export, fork."""
