"""What images and files are, from their first bytes."""
