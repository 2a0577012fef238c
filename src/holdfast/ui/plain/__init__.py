"""The plain mode: text only, line by line, without redrawing anything."""
