"""Access to models: the Model protocol, providers by name, credentials, connections."""
