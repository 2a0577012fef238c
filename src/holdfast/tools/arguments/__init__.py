"""Tool arguments as models write them, read as the tools declare them."""
