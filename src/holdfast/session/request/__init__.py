"""What is sent to a provider: normalized, validated, written as a body."""
