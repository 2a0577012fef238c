"""Settings on the screen: the list, the editing of one, and what changes at once."""
