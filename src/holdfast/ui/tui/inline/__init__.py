"""The screen without the alternate screen: its printed blocks, and the height of its live region."""
