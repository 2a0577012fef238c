"""What is decided about the calls of a response before and after they run."""
