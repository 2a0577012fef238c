"""The turn: journal, then act, then emit."""
