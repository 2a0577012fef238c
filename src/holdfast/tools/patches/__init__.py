"""Finding the place in a file that a model means, and several files changed by one patch."""
