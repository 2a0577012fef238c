"""What really happened in a turn: the receipt, the conditions that a caller may require, and its words."""
