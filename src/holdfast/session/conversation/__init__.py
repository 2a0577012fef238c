"""The conversation that the journal folds to."""
