"""One request to a model: the stream, its deadlines, retries, cancellation."""
