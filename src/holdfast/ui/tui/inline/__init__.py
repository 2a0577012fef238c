"""The screen without the alternate screen: what it prints, and how high its live part is."""
