"""Spans of turns for OpenTelemetry."""
