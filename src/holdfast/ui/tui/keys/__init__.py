"""Where keys go: their order, and what they mean at an approval prompt."""
