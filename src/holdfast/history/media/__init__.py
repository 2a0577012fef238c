"""Recognizes images and files by their bytes."""
