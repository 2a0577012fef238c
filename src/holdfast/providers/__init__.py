"""A model, reached: the Model protocol, providers by name, credentials, connections."""
