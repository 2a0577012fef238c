"""The record of a fleet in PostgreSQL."""
