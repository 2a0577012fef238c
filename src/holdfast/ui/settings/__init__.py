"""The settings: their possible values, where they are kept, and how they are changed."""
