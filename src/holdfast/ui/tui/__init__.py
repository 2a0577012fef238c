"""The full-screen UI; the only package that imports Textual."""
