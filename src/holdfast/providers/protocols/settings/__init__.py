"""How each protocol writes the settings: pure functions of the settings and of what is known of the model."""
