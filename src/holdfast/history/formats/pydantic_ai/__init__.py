"""Reads, checks and writes messages of pydantic-ai as its adapter writes them."""
