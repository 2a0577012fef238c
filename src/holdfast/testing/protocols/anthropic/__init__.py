"""The protocol of Anthropic."""
