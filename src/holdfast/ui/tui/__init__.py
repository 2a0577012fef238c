"""The full-screen terminal; the only package that knows Textual."""
